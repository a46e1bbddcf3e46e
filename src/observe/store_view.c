// SPDX-License-Identifier: Apache-2.0
//
// Bounded reads of a store. See store_view.h for what is trusted (nothing).
//
// Cost: walking 17,000 cells takes 0.3 ms by pread and 0.08 ms in place; blocks without owners are
// skipped by asking the kernel where the data goes on.
#define _GNU_SOURCE
#include "observe/store_view.h"

#include "base/alloc.h"
#include "observe/clock.h"
#include "observe/store_older.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_CELLS TIDE_STORE_BLOCK_CELLS
#define BLOCK_NODES 1024u
#define GIVE_BACK_CELLS 65536u // a few megabytes
#define MANY_CELLS 2048u       // worth mapping
#define MAX_TEXT_BYTES (1u << 20)
#define TEXT_PIECE 4096u // at most; holds all texts of most stores

enum tide_err tide_store_view_open(struct tide_store_view *view, int fd, struct tide_diag *diag)
{
  struct stat st;
  if (fstat(fd, &st)) {
    enum tide_err err = tide_fail_errno(diag, "cannot look at the store");
    close(fd);
    return err;
  }
  *view = (struct tide_store_view){.fd = fd, .file_bytes = (uint64_t)st.st_size};
  return TIDE_ERR_OK;
}

void tide_store_view_close(struct tide_store_view *view)
{
  tide_store_map_done(&view->cells_map);
  tide_store_map_done(&view->owners_map);
  tide_store_annexes_done(view);
  if (view->shared)
    munmap(view->shared, TIDE_STORE_HEADER_BYTES);
  if (view->fd >= 0)
    close(view->fd);
  free(view->kinds);
  free(view->pairs.items);
  free(view->text);
  free(view->head);
  *view = (struct tide_store_view){.fd = -1};
}

void tide_store_view_read(const struct tide_store_view *view, uint64_t offset, void *to, size_t n)
{
  size_t done = 0;
  if (view->head && offset < TIDE_STORE_HEADER_BYTES && n <= TIDE_STORE_HEADER_BYTES - offset) {
    memcpy(to, view->head + offset, n);
    return;
  }
  while (done < n && offset + done < view->file_bytes) {
    ssize_t got = pread(view->fd, (char *)to + done, n - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    done += (size_t)got;
  }
  memset((char *)to + done, 0, n - done);
}

void tide_store_view_items(const struct tide_store_view *view, const struct tide_area *area,
                           size_t bytes_each, uint64_t first, void *to, size_t n)
{
  uint64_t inside = first < area->capacity ? area->capacity - first : 0;
  uint64_t near = first < area->n_near ? area->n_near - first : 0;
  size_t have = n < inside ? n : (size_t)inside, n_near = have < near ? have : (size_t)near;
  char *far_to = (char *)to + n_near * bytes_each;
  if (n_near)
    tide_store_view_read(view, area->near_offset + first * bytes_each, to, n_near * bytes_each);
  if (have > n_near)
    tide_store_view_read(view, area->offset + (first + n_near) * bytes_each, far_to,
                         (have - n_near) * bytes_each);
  memset((char *)to + have * bytes_each, 0, (n - have) * bytes_each);
}

static void forget_text(struct tide_store_view *view)
{
  free(view->text);
  view->text = NULL;
}

// The rest of the piece from an offset on; NULL: no string ends there.
static const char *text_in_piece(struct tide_store_view *view, uint64_t offset)
{
  uint64_t n_near = view->areas.text.n_near;
  if (!view->text || offset - view->text_from >= view->text_bytes) {
    forget_text(view);
    // Of the few texts of a short process all are near.
    uint64_t n = offset < n_near ? n_near - offset : TEXT_PIECE;
    view->text_bytes = n < TEXT_PIECE ? n : TEXT_PIECE;
    view->text = tide_alloc(TEXT_PIECE);
    view->text_from = offset;
    tide_store_view_items(view, &view->areas.text, 1, offset, view->text, view->text_bytes);
  }
  uint64_t at = offset - view->text_from;
  return memchr(view->text + at, 0, view->text_bytes - at) ? view->text + at : NULL;
}

char *tide_store_view_text(struct tide_store_view *view, uint32_t offset, size_t max)
{
  if (max > MAX_TEXT_BYTES)
    max = MAX_TEXT_BYTES;
  const char *known = text_in_piece(view, offset);
  if (known)
    return tide_strndup(known, max);
  char *text = tide_alloc(max + 1);
  tide_store_view_items(view, &view->areas.text, 1, offset, text, max);
  char *fit = tide_strndup(text, max);
  free(text);
  return fit;
}

static bool is_inside(const struct tide_store_view *view, uint64_t offset, uint64_t n,
                      size_t bytes_each)
{
  return offset >= sizeof view->header && offset % 8 == 0 && offset <= view->file_bytes &&
         n <= (view->file_bytes - offset) / bytes_each;
}

// An area that does not lie in the file, behind the header, is an error: nothing in it could be
// believed. Ids are 32 bits wide, so that is the most an area can hold that is addressed by one.
static bool area_is_valid(const struct tide_store_view *view, struct tide_area area,
                          size_t bytes_each)
{
  return is_inside(view, area.offset, area.capacity, bytes_each) && area.capacity <= UINT32_MAX &&
         area.n_near <= area.capacity &&
         (!area.n_near || is_inside(view, area.near_offset, area.n_near, bytes_each));
}

static bool areas_take(struct tide_store_view *view)
{
  const struct tide_store_areas *a = &view->header.areas;
  view->areas = *a;
  return area_is_valid(view, a->slots, sizeof(struct tide_thread_slot)) &&
         area_is_valid(view, a->nodes, sizeof(struct tide_node)) &&
         area_is_valid(view, a->cells, sizeof(struct tide_cell)) &&
         area_is_valid(view, a->hists, sizeof(struct tide_hist)) &&
         area_is_valid(view, a->carries, sizeof(struct tide_hist)) &&
         area_is_valid(view, a->owners, sizeof(struct tide_owner)) &&
         area_is_valid(view, a->modules, sizeof(struct tide_store_module)) &&
         area_is_valid(view, a->text, 1) &&
         area_is_valid(view, a->ends, sizeof(struct tide_ends)) &&
         area_is_valid(view, a->pasts, sizeof(struct tide_past)) &&
         area_is_valid(view, a->touches, sizeof(struct tide_touches)) &&
         area_is_valid(view, a->lates, sizeof(struct tide_late_chunk)) &&
         area_is_valid(view, a->children, sizeof(struct tide_store_children)) &&
         (!a->moments.capacity ||
          area_is_valid(view, a->moments, sizeof(struct tide_store_moment))) &&
         (!a->ranges.capacity || area_is_valid(view, a->ranges, sizeof(struct tide_range)));
}

static uint32_t least(uint32_t a, uint64_t b)
{
  return a < b ? a : (uint32_t)b;
}

static enum tide_err header_check(const char *page, uint32_t *ret_version, struct tide_diag *diag)
{
  struct tide_store_header h;
  static const char none[sizeof h.magic];
  memcpy(&h, page, sizeof h);
  if (h.state == TIDE_STATE_EMPTY && !memcmp(h.magic, none, sizeof none))
    return tide_fail(diag, TIDE_ERR_EMPTY, "the store is empty: nothing was recorded");
  if (memcmp(h.magic, TIDE_STORE_MAGIC, sizeof h.magic))
    return tide_fail(diag, TIDE_ERR_FORMAT, "this is not a store of tidemark");
  if (!tide_store_layout_is_known(h.version))
    return tide_fail(diag, TIDE_ERR_VERSION,
                     "the store has version %u, this tidemark reads versions %u to %u: use the "
                     "tidemark that belongs to the recorder; a capture that its symbolize makes of "
                     "the store is read by all later ones, too",
                     h.version, TIDE_STORE_OLDEST, TIDE_STORE_VERSION);
  *ret_version = h.version;
  return TIDE_ERR_OK;
}

enum tide_err tide_store_view_refresh(struct tide_store_view *view, struct tide_diag *diag)
{
  struct tide_store_header *h = &view->header;
  char page[sizeof *h];
  uint32_t version = h->version;
  forget_text(view);
  tide_store_view_read(view, 0, page, sizeof page);
  enum tide_err err = view->ready ? TIDE_ERR_OK : header_check(page, &version, diag);
  if (err)
    return err;
  tide_store_header_take(page, version, h);
  if (!view->ready) {
    if (h->state == TIDE_STATE_EMPTY)
      return tide_fail(diag, TIDE_ERR_EMPTY, "the store is empty: nothing was recorded");
    if (!areas_take(view))
      return tide_fail(diag, TIDE_ERR_DAMAGED, "the store is damaged: a table lies outside of it");
    view->ready = true;
  }
  h->n_cells = least(least(h->n_cells, view->areas.cells.capacity), view->areas.owners.capacity);
  h->n_ends = least(h->n_ends, view->areas.ends.capacity);
  h->n_pasts = least(h->n_pasts, view->areas.pasts.capacity);
  h->n_hists = least(h->n_hists, view->areas.hists.capacity);
  h->n_touches = least(h->n_touches, view->areas.touches.capacity);
  h->n_nodes = least(h->n_nodes, view->areas.nodes.capacity);
  h->n_slots = least(h->n_slots, view->areas.slots.capacity);
  h->n_modules = least(h->n_modules, view->areas.modules.capacity);
  return TIDE_ERR_OK;
}

static uint64_t live_bytes_of(const struct tide_store_view *view, uint32_t n_slots)
{
  uint64_t live = 0; // unsigned: a store of garbage must not overflow
  struct tide_thread_slot slots[32];
  const uint32_t n_block = sizeof slots / sizeof *slots;
  for (uint32_t first = 1; first < n_slots; first += n_block) {
    uint32_t left = n_slots - first, n = left < n_block ? left : n_block;
    tide_store_view_items(view, &view->areas.slots, sizeof *slots, first, slots, n);
    for (uint32_t i = 0; i < n; i++)
      live += (uint64_t)slots[i].held + tide_pairs_open_bytes(&slots[i].pairs);
  }
  return live;
}

uint32_t tide_store_view_slots_now(const struct tide_store_view *view)
{
  struct tide_store_header h;
  char page[sizeof h];
  tide_store_view_read(view, 0, page, sizeof page);
  tide_store_header_take(page, view->header.version, &h);
  return least(h.n_slots, view->areas.slots.capacity);
}

void tide_store_view_totals(const struct tide_store_view *view, struct tide_store_totals *ret)
{
  uint32_t n_slots = tide_store_view_slots_now(view), before;
  unsigned n_looks = 0;
  do {
    before = n_slots;
    ret->live_bytes = (int64_t)live_bytes_of(view, n_slots);
    n_slots = tide_store_view_slots_now(view);
  } while (n_slots != before && ++n_looks < TIDE_STORE_LOOKS);
  ret->page_bytes = view->header.page_live_bytes;
}

// A damaged count could ask for gigabytes of zeros: nodes are appended one after another, so where
// the file has a hole the table has ended.
static uint32_t nodes_backed(const struct tide_store_view *view, uint32_t n)
{
  const struct tide_area *area = &view->areas.nodes;
  if (n <= area->n_near)
    return n;
  uint64_t far = area->offset + area->n_near * sizeof(struct tide_node);
  off_t hole = lseek(view->fd, (off_t)far, SEEK_HOLE);
  if (hole < 0)
    return n;
  uint64_t bytes = (uint64_t)hole > far ? (uint64_t)hole - far : 0;
  return least(n, area->n_near + bytes / sizeof(struct tide_node));
}

void tide_store_view_node_rows(const struct tide_store_view *view, size_t first,
                               struct tide_node *to, size_t n)
{
  tide_store_view_items(view, &view->areas.nodes, sizeof *to, first, to, n);
  for (size_t i = 0; i < n; i++) {
    if (first + i == 0)
      to[i] = (struct tide_node){0};
    if (to[i].parent >= first + i)
      to[i].parent = 0;
  }
}

void tide_store_view_nodes(struct tide_store_view *view)
{
  uint32_t n = view->header.n_nodes;
  if (n > view->n_nodes)
    n = nodes_backed(view, n);
  if (n <= view->n_nodes)
    return;
  if (n > view->cap_nodes) {
    view->cap_nodes = n + n / 4;
    view->kinds = tide_realloc_array(view->kinds, view->cap_nodes, 1);
  }
  struct tide_node nodes[BLOCK_NODES];
  for (size_t first = view->n_nodes; first < n; first += BLOCK_NODES) {
    size_t n_block = n - first < BLOCK_NODES ? n - first : BLOCK_NODES;
    tide_store_view_node_rows(view, first, nodes, n_block);
    for (size_t i = 0; i < n_block; i++)
      view->kinds[first + i] = nodes[i].parent ? view->kinds[nodes[i].parent]
                                               : (uint8_t)tide_kind_of_root(nodes[i].flags);
  }
  view->n_nodes = n;
}

// The first cell at or after `cell` whose owner may be in use, by where the file has data.
static uint32_t next_backed_owner(const struct tide_store_view *view, uint32_t cell)
{
  const struct tide_area *area = &view->areas.owners;
  if (cell < area->n_near)
    return cell;
  uint64_t at = area->offset + (uint64_t)cell * sizeof(struct tide_owner);
  off_t data = lseek(view->fd, (off_t)at, SEEK_DATA);
  if (data < 0)
    return errno == ENXIO ? UINT32_MAX : cell;
  if ((uint64_t)data <= at)
    return cell;
  uint64_t next = ((uint64_t)data - area->offset) / sizeof(struct tide_owner);
  return next < UINT32_MAX ? (uint32_t)next : UINT32_MAX;
}

static uint32_t owners_check(const struct tide_store_view *view, struct tide_owner *owners,
                             uint32_t n)
{
  uint32_t used = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (owners[i].stack >= view->n_nodes)
      owners[i].stack = 0;
    if (owners[i].stack)
      used = i + 1;
  }
  return used;
}

static bool may_shrink(const struct tide_store_view *view)
{
  int seals = fcntl(view->fd, F_GET_SEALS);
  return seals < 0 || !(seals & F_SEAL_SHRINK);
}

struct tide_store_header *tide_store_view_shared(struct tide_store_view *view)
{
  if (view->shared || view->header.version != TIDE_STORE_VERSION || may_shrink(view))
    return view->shared;
  void *at = mmap(NULL, TIDE_STORE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, view->fd, 0);
  return view->shared = at == MAP_FAILED ? NULL : at;
}

void tide_store_view_map(struct tide_store_view *view)
{
  const struct tide_store_areas *areas = &view->areas;
  const struct tide_store_header *h = &view->header;
  if (may_shrink(view))
    return;
  tide_store_map_cover(view, &areas->hists, sizeof(struct tide_hist), h->n_hists, &view->hists.map);
  tide_store_map_cover(view, &areas->pasts, sizeof(struct tide_past), h->n_pasts, &view->pasts.map);
  tide_store_map_cover(view, &areas->touches, sizeof(struct tide_touches), h->n_touches,
                       &view->touches.map);
  tide_store_map_cover(view, &areas->ends, sizeof(struct tide_ends), h->n_ends, &view->ends.map);
  tide_store_map_cover(view, &areas->owners, sizeof(struct tide_owner), h->n_cells,
                       &view->owners_map);
  tide_store_map_cover(view, &areas->cells, sizeof(struct tide_cell), h->n_cells, &view->cells_map);
}

// n items from first on: copied to the buffer, or in place if they are mapped.
static const void *items_at(const struct tide_store_view *view, const struct tide_area *area,
                            const struct tide_store_map *map, size_t bytes_each, uint32_t first,
                            uint32_t n, void *buffer)
{
  const void *first_item = tide_store_map_at(map, first, bytes_each);
  bool is_whole = first >= map->n_near || first + (uint64_t)n <= map->n_near;
  if (first_item && is_whole && first + (uint64_t)n <= map->n)
    return first_item;
  tide_store_view_items(view, area, bytes_each, first, buffer, n);
  return buffer;
}

// n cells from first on, with what waits: in the buffer, or in place where nothing does.
static const struct tide_cell *cells_at(const struct tide_store_view *view, uint32_t first,
                                        uint32_t n, struct tide_cell *buffer)
{
  const struct tide_cell *cells =
      items_at(view, &view->areas.cells, &view->cells_map, sizeof *cells, first, n, buffer);
  if (!tide_store_pairs_any(view, first, n))
    return cells;
  if (cells != buffer)
    memcpy(buffer, cells, n * sizeof *cells);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  tide_store_pairs_add(view, first, n, buffer);
  return buffer;
}

void tide_store_view_use_up(struct tide_store_view *view)
{
  // Threads and texts of a short process lie in its first page, and are asked for one by one.
  view->used_up = true;
  char *head = tide_alloc(TIDE_STORE_HEADER_BYTES);
  tide_store_view_read(view, 0, head, TIDE_STORE_HEADER_BYTES);
  free(view->head);
  view->head = head;
}

// Gives back items of a table of memory that are not needed any more. Of a file nothing is.
static void give_back(const struct tide_store_view *view, const struct tide_area *area,
                      size_t bytes_each, uint64_t first, uint64_t end)
{
  uint64_t from = area->offset + first * bytes_each, to = area->offset + end * bytes_each;
  if (view->used_up && !may_shrink(view))
    (void)!fallocate(view->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
                     (off_t)(to - from));
}

void tide_store_view_cells(struct tide_store_view *view, tide_cell_visit *visit, void *context)
{
  if (view->header.n_cells >= MANY_CELLS || view->cells_map.items)
    tide_store_view_map(view);
  tide_store_annexes_forget(view);
  tide_store_pairs_find(view);
  const struct tide_store_areas *areas = &view->areas;
  uint32_t end = view->header.n_cells, first = TIDE_FIRST_CELL;
  uint32_t most = end > first ? end - first : 0;
  most = most < BLOCK_CELLS ? most : BLOCK_CELLS; // a short process has few
  struct tide_cell *cells = tide_alloc_array(most, sizeof *cells);
  struct tide_owner *owners = tide_alloc_array(most, sizeof *owners);
  while (first < end) {
    uint32_t n = end - first < BLOCK_CELLS ? end - first : BLOCK_CELLS;
    const void *raw =
        items_at(view, &areas->owners, &view->owners_map, sizeof *owners, first, n, owners);
    if (raw != owners) // what is checked must not change any more
      memcpy(owners, raw, n * sizeof *owners);
    uint32_t used = owners_check(view, owners, n);
    if (used) {
      const struct tide_cell *in_use = cells_at(view, first, used, cells);
      visit(context, &(struct tide_cell_block){first, used, in_use, owners});
      first += n;
      if (first / GIVE_BACK_CELLS != (first - n) / GIVE_BACK_CELLS) {
        uint64_t to = first / GIVE_BACK_CELLS * GIVE_BACK_CELLS;
        give_back(view, &areas->cells, sizeof *cells, to - GIVE_BACK_CELLS, to);
        give_back(view, &areas->owners, sizeof *owners, to - GIVE_BACK_CELLS, to);
      }
    } else {
      first = first + n < end ? next_backed_owner(view, first + n) : end;
    }
  }
  free(cells);
  free(owners);
}

const struct tide_cell *tide_store_view_cells_now(const struct tide_store_view *view,
                                                  const struct tide_cell_block *block)
{
  const struct tide_store_map *map = &view->cells_map;
  if (map->items && block->first + (uint64_t)block->n <= map->n)
    return (const struct tide_cell *)map->items + block->first;
  return block->cells;
}
