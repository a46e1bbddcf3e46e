// SPDX-License-Identifier: Apache-2.0
//
// The store is found among the mappings and copied as far as it is in memory; the copy is read as
// any store is, with every index checked. Live blocks lie outside of it, in private memory of the
// process, whose absent pages are zeros.
#define _GNU_SOURCE
#include "residence/recorded.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "observe/store_view.h"
#include "store/codes.h"
#include "store/live_map.h"
#include "store/live_walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// This process's own, which the code shared asks for where it is not optimised: empty. Weak, as
// the recorder has one, should it be in the same program.
__attribute__((weak)) struct tide_live_map tide_live_map;

enum {
  COPY_BYTES = 1 << 18,
  OWNERS = 4096,
  MAX_PAGE_RANGES = 1 << 20,
  WINDOW_BLOCKS = 1 << 15, // and those of one region more
};

// ---- the store ----

static bool is_store_path(const char *path)
{
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  return strncmp(name, "memfd:tidemark", 14) == 0 ||
         (strncmp(name, "tidemark.", 9) == 0 && strstr(name, ".store"));
}

static bool is_next_part(const struct tide_space_mapping *a, const struct tide_space_mapping *b)
{
  return b->lo == a->hi && b->offset == a->offset + (a->hi - a->lo) &&
         strcmp(a->path, b->path) == 0;
}

// Advice has cut it into several mappings. Of a parent's store a child has a page from its middle.
static bool find_store(struct tide_space *space, struct tide_recorded *recorded)
{
  for (size_t i = 0; i < space->n_mappings; i++) {
    const struct tide_space_mapping *first = &space->mappings[i];
    struct tide_store_header header;
    if (first->offset || !first->shared || !is_store_path(first->path) ||
        !tide_space_read(space, first->lo, &header, sizeof header) ||
        memcmp(header.magic, TIDE_STORE_MAGIC, sizeof header.magic) != 0)
      continue;
    while (i + 1 < space->n_mappings && is_next_part(&space->mappings[i], &space->mappings[i + 1]))
      i++;
    recorded->store_lo = first->lo;
    recorded->store_hi = space->mappings[i].hi;
    return true;
  }
  return false;
}

// Marks are written from outside: the process itself never has them in its page tables.
static void copy_moments(struct tide_space *space, const struct tide_recorded *recorded, int fd)
{
  struct tide_store_header h;
  uint64_t bytes = recorded->store_hi - recorded->store_lo;
  if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || h.version != TIDE_STORE_VERSION)
    return;
  uint64_t at = h.areas.moments.offset, n = h.switches.n_moments;
  n = n <= TIDE_MOMENTS && n <= h.areas.moments.capacity ? n : 0;
  struct tide_store_moment rows[TIDE_MOMENTS];
  if (n && at < bytes && bytes - at >= n * sizeof *rows &&
      tide_space_fetch(space, recorded->store_lo + at, rows, n * sizeof *rows))
    (void)!pwrite(fd, rows, n * sizeof *rows, (off_t)at);
}

static int copy_store(struct tide_space *space, const struct tide_recorded *recorded)
{
  uint64_t lo = recorded->store_lo, hi = recorded->store_hi;
  TIDE_CLEANUP_FREE char *piece = tide_alloc(COPY_BYTES);
  int fd = memfd_create("store", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, (off_t)(hi - lo)))
    return fd;
  for (size_t i = tide_space_run_at(space, lo); i < space->n_runs && space->runs[i].lo < hi; i++) {
    uint64_t from = space->runs[i].lo > lo ? space->runs[i].lo : lo;
    uint64_t end = space->runs[i].hi < hi ? space->runs[i].hi : hi;
    for (uint64_t at = from; at < end; at += COPY_BYTES) {
      size_t n = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;
      if (tide_space_read(space, at, piece, n) &&
          pwrite(fd, piece, n, (off_t)(at - lo)) != (ssize_t)n)
        return fd; // what is missing is read as zeros
    }
  }
  copy_moments(space, recorded, fd);
  return fd;
}

// ---- sites ----

static enum tide_runs_layout layout_of(uint32_t family)
{
  return family == TIDE_FAMILY_JEMALLOC   ? TIDE_RUNS_JEMALLOC
         : family == TIDE_FAMILY_MIMALLOC ? TIDE_RUNS_MIMALLOC
                                          : TIDE_RUNS_NONE;
}

static void note_layout(struct tide_recorded *recorded, enum tide_runs_layout layout)
{
  recorded->runs = layout > recorded->runs ? layout : recorded->runs;
}

static void read_owners(const struct tide_store_view *view, struct tide_recorded *recorded)
{
  struct tide_owner owners[OWNERS];
  const struct tide_area *area = &view->areas.owners;
  size_t n = view->header.n_cells < area->capacity ? view->header.n_cells : area->capacity;
  recorded->n_cells = n;
  recorded->n_stacks = view->n_nodes;
  recorded->stack_of_cell = tide_alloc_array(n + 1, sizeof *recorded->stack_of_cell);
  recorded->site_of_stack =
      tide_alloc_array(recorded->n_stacks + 1, sizeof *recorded->site_of_stack);
  for (size_t first = 0; first < n; first += OWNERS) {
    size_t m = n - first < OWNERS ? n - first : OWNERS;
    tide_store_view_items(view, area, sizeof *owners, first, owners, m);
    for (size_t i = 0; i < m; i++)
      note_layout(recorded, owners[i].stack ? layout_of(owners[i].family) : TIDE_RUNS_NONE);
    for (size_t i = 0; i < m; i++)
      recorded->stack_of_cell[first + i] =
          owners[i].stack < recorded->n_stacks ? owners[i].stack : 0;
  }
}

static bool site_of(struct tide_recorded *recorded, uint32_t cell, bool is_mapped,
                    uint32_t *ret_site)
{
  uint32_t stack = cell < recorded->n_cells ? recorded->stack_of_cell[cell] : 0;
  struct tide_residence *table = recorded->table;
  if (!stack)
    return false;
  uint32_t *site = &recorded->site_of_stack[stack];
  if (!*site) {
    TIDE_GROW(table->sites, table->n_sites, table->cap_sites);
    table->sites[table->n_sites++] =
        (struct tide_residence_site){.stack = stack, .is_mapped = is_mapped};
    *site = (uint32_t)table->n_sites;
  }
  *ret_site = *site - 1;
  return true;
}

// ---- live blocks ----

// Absent pages of private memory are zeros.
static bool read_private(void *context, uint64_t at, void *to, size_t n)
{
  struct tide_space *space = ((struct tide_recorded *)context)->space;
  char *bytes = to;
  uint64_t end = at + n;
  if (end < at)
    return false;
  memset(bytes, 0, n);
  for (size_t i = tide_space_run_at(space, at); i < space->n_runs && space->runs[i].lo < end; i++) {
    uint64_t lo = space->runs[i].lo > at ? space->runs[i].lo : at;
    uint64_t hi = space->runs[i].hi < end ? space->runs[i].hi : end;
    if (!tide_space_read(space, lo, bytes + (lo - at), (size_t)(hi - lo)))
      return false;
  }
  return true;
}

static int block_order(const void *a, const void *b)
{
  const struct tide_recorded_block *x = a, *y = b;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

// The walk goes from region to region by address, and within one as its table has it: many have it
// by address, too.
static void put_in_order(struct tide_recorded_window *window)
{
  struct tide_recorded_block *blocks = &window->blocks[window->in_order];
  size_t n = window->n - window->in_order, i = 1;
  while (i < n && blocks[i - 1].lo < blocks[i].lo)
    i++;
  if (i < n)
    qsort(blocks, n, sizeof *blocks, block_order);
  window->in_order = window->n;
}

static bool is_block(struct tide_recorded *recorded, const struct tide_walk_block *block,
                     struct tide_recorded_block *ret_block)
{
  ret_block->lo = block->addr;
  ret_block->hi = block->addr + block->size;
  return ret_block->hi >= ret_block->lo && site_of(recorded, block->cell, false, &ret_block->site);
}

static void add_block(void *context, const struct tide_walk_block *block)
{
  struct tide_recorded *recorded = context;
  struct tide_recorded_window *window = &recorded->window;
  struct tide_recorded_block found;
  if (!is_block(recorded, block, &found))
    return;
  if (window->n && (window->blocks[window->n - 1].lo ^ found.lo) >> TIDE_LIVE_REGION_BITS)
    put_in_order(window);
  TIDE_GROW(window->blocks, window->n, window->cap);
  window->blocks[window->n++] = found;
}

static void read_window(struct tide_recorded *recorded, uint64_t from)
{
  struct tide_recorded_window *window = &recorded->window;
  struct tide_walk_result result = {.end = UINT64_MAX};
  struct tide_live_walk walk = {recorded->live_map, read_private, add_block,
                                recorded,           from,         WINDOW_BLOCKS};
  window->n = window->at = window->in_order = 0;
  if (walk.map && tide_live_walk(&walk, &result))
    put_in_order(window);
  else
    window->n = 0;
  window->lo = from;
  window->hi = result.end;
}

// The window's block, or the first of the next window that has one.
static const struct tide_recorded_block *given(struct tide_recorded *recorded)
{
  struct tide_recorded_window *window = &recorded->window;
  while (window->at >= window->n && window->hi != UINT64_MAX)
    read_window(recorded, window->hi);
  return window->at < window->n ? &window->blocks[window->at] : NULL;
}

const struct tide_recorded_block *tide_recorded_from(struct tide_recorded *recorded,
                                                     uint64_t address)
{
  struct tide_recorded_window *window = &recorded->window;
  if (address < window->lo || address >= window->hi)
    read_window(recorded, address);
  const struct tide_recorded_block *blocks = window->blocks;
  size_t at = window->at, n = window->n;
  bool is_near = at < n && blocks[at].lo < address && (at + 1 == n || blocks[at + 1].lo >= address);
  window->at = is_near ? at + 1 : TIDE_FIRST_NOT_BELOW(blocks, n, lo, address);
  return given(recorded);
}

const struct tide_recorded_block *tide_recorded_next(struct tide_recorded *recorded)
{
  recorded->window.at++;
  return given(recorded);
}

const struct tide_recorded_block *tide_recorded_at(struct tide_recorded *recorded, uint64_t address)
{
  const struct tide_recorded_block *block = tide_recorded_from(recorded, address);
  return block && block->lo == address ? block : NULL;
}

struct each {
  struct tide_recorded *recorded;
  void *context;
  void (*each)(void *context, const struct tide_recorded_block *block);
};

static bool read_for_each(void *context, uint64_t at, void *to, size_t n)
{
  return read_private(((struct each *)context)->recorded, at, to, n);
}

static void tell_each(void *context, const struct tide_walk_block *block)
{
  const struct each *each = context;
  struct tide_recorded_block found;
  if (is_block(each->recorded, block, &found))
    each->each(each->context, &found);
}

uint64_t tide_recorded_each(struct tide_recorded *recorded, void *context,
                            void (*each)(void *context, const struct tide_recorded_block *block))
{
  struct each all = {recorded, context, each};
  struct tide_walk_result result = {0};
  struct tide_live_walk walk = {
      .map = recorded->live_map, .read = read_for_each, .each = tell_each, .context = &all};
  return walk.map && tide_live_walk(&walk, &result) ? result.n_unread : 0;
}

// ---- mappings ----

// Another allocator than libc's maps memory as any program does.
static bool is_of_allocator(const struct tide_recorded *recorded, struct tide_store_view *view,
                            uint32_t site)
{
  const char *allocator = recorded->allocator;
  struct tide_node node;
  struct tide_store_module module;
  tide_store_view_node_rows(view, recorded->table->sites[site].stack, &node, 1);
  uint32_t id = TIDE_FRAME_MODULE(node.frame);
  if (!id || id >= view->header.n_modules || !allocator || !*allocator)
    return false;
  tide_store_view_items(view, &view->areas.modules, sizeof module, id, &module, 1);
  TIDE_CLEANUP_FREE char *path = tide_store_view_text(view, module.path, 4096);
  return strcmp(path, allocator) == 0;
}

static void add_mapped(struct tide_recorded *recorded, struct tide_store_view *view,
                       const struct tide_page_range *range)
{
  struct tide_residence *table = recorded->table;
  uint64_t behind = recorded->n_mapped ? recorded->mapped[recorded->n_mapped - 1].hi : 0;
  uint32_t site;
  if (range->start < behind || range->end <= range->start ||
      !site_of(recorded, range->cell, true, &site) || is_of_allocator(recorded, view, site))
    return;
  TIDE_GROW(recorded->mapped, recorded->n_mapped, recorded->cap_mapped);
  recorded->mapped[recorded->n_mapped++] =
      (struct tide_recorded_block){range->start, range->end, site};
  table->sites[site].n_blocks++;
  table->sites[site].asked += range->end - range->start;
}

static void read_mapped(struct tide_recorded *recorded, struct tide_store_view *view)
{
  struct tide_page_table known;
  if (!view->header.page_table ||
      !read_private(recorded, view->header.page_table, &known, sizeof known) || !known.n ||
      known.n > MAX_PAGE_RANGES)
    return;
  struct tide_page_range *ranges = tide_alloc_array(known.n, sizeof *ranges);
  if (read_private(recorded, (uint64_t)known.ranges, ranges, known.n * sizeof *ranges))
    for (uint64_t i = 0; i < known.n; i++)
      add_mapped(recorded, view, &ranges[i]);
  free(ranges);
}

static void read_own(struct tide_recorded *recorded, const struct tide_store_view *view)
{
  const struct tide_area *area = &view->areas.ranges;
  uint64_t n = view->header.n_ranges < area->capacity ? view->header.n_ranges : area->capacity;
  for (uint64_t i = 0; i < n; i++) {
    struct tide_range range;
    tide_store_view_items(view, area, sizeof range, i, &range, 1);
    bool is_store =
        range.start < recorded->store_hi && range.start + range.bytes > recorded->store_lo;
    if (range.bytes < 2 || range.start + range.bytes < range.start || is_store)
      continue;
    TIDE_GROW(recorded->own, recorded->n_own, recorded->cap_own);
    recorded->own[recorded->n_own++] =
        (struct tide_recorded_range){range.start, range.start + range.bytes};
  }
}

// ---- all of it ----

static void read_view(struct tide_recorded *recorded, struct tide_store_view *view)
{
  tide_store_view_nodes(view);
  recorded->is_there = true;
  recorded->live_map = view->header.live_map;
  recorded->allocator = tide_store_view_text(view, view->header.allocator, 4096);
  note_layout(recorded, strstr(recorded->allocator, "jemalloc")   ? TIDE_RUNS_JEMALLOC
                        : strstr(recorded->allocator, "mimalloc") ? TIDE_RUNS_MIMALLOC
                                                                  : TIDE_RUNS_NONE);
  read_owners(view, recorded);
  read_own(recorded, view);
  read_mapped(recorded, view);
}

// The process may have become another one since the store was given.
static bool is_of_process(struct tide_space *space, const struct tide_store_view *view,
                          const struct tide_recorded *recorded)
{
  struct tide_store_header header;
  return tide_space_read(space, recorded->store_lo, &header, sizeof header) &&
         header.start_ticks == view->header.start_ticks && header.live_map == view->header.live_map;
}

void tide_recorded_open(struct tide_space *space, int given_fd, struct tide_residence *table,
                        struct tide_recorded *ret_recorded, int *ret_store_fd)
{
  struct tide_store_view view;
  struct tide_diag diag;
  *ret_recorded = (struct tide_recorded){.space = space, .table = table};
  *ret_store_fd = -1;
  if (!find_store(space, ret_recorded))
    return;
  int fd = given_fd >= 0 ? dup(given_fd) : copy_store(space, ret_recorded);
  if (fd < 0 || tide_store_view_open(&view, fd, &diag))
    return;
  if (!tide_store_view_refresh(&view, &diag) && is_of_process(space, &view, ret_recorded)) {
    read_view(ret_recorded, &view);
    *ret_store_fd = given_fd >= 0 ? -1 : dup(fd);
  }
  tide_store_view_close(&view);
}

int tide_recorded_copy(struct tide_space *space)
{
  struct tide_recorded recorded = {.space = space};
  return find_store(space, &recorded) ? copy_store(space, &recorded) : -1;
}

void tide_recorded_done(struct tide_recorded *recorded)
{
  free(recorded->allocator);
  free(recorded->mapped);
  free(recorded->own);
  free(recorded->stack_of_cell);
  free(recorded->site_of_stack);
  free(recorded->window.blocks);
  *recorded = (struct tide_recorded){0};
}
