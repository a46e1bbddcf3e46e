// SPDX-License-Identifier: Apache-2.0
//
// /proc/PID/maps, then pagemap. Not smaps: it holds the process's lock on its mappings for as long
// as it walks one, some 20 to 60 ms for a gigabyte, and tells less.
#define _GNU_SOURCE
#include "residence/space.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// At once, since the kernel holds its lock meanwhile: so much that is there, or page tables of so
// much that is not. A store is hundreds of gigabytes of the latter.
#define SCAN_BYTES (UINT64_C(64) << 20)
#define SCAN_EMPTY_BYTES (UINT64_C(2) << 30)

#define ENTRIES 8192

#define WINDOW_BYTES (UINT64_C(256) << 10)

static int open_of(uint32_t pid, const char *name, int flags)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
  return open(path, flags | O_CLOEXEC);
}

static uint64_t read_rss(const struct tide_space *space)
{
  char text[128];
  uint64_t pages = 0;
  int fd = open_of(space->pid, "statm", O_RDONLY);
  ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  if (fd >= 0)
    close(fd);
  text[n > 0 ? n : 0] = 0;
  return sscanf(text, "%*u %" SCNu64, &pages) == 1 ? pages * space->page_bytes : 0;
}

// ---- mappings ----

// The kernel tells the list page by page. A mapping that grew or was joined with its neighbour in
// the meantime comes again, from its beginning: only what lies behind the last one is new.
static void add_mapping(struct tide_space *space, const char *line)
{
  TIDE_GROW(space->mappings, space->n_mappings, space->cap_mappings);
  struct tide_space_mapping *next = &space->mappings[space->n_mappings];
  *next = (struct tide_space_mapping){0};
  if (!tide_mapping_parse(line, (struct tide_mapping *)next))
    return;
  uint64_t told = space->n_mappings ? next[-1].hi : 0;
  if (next->hi <= told) {
    free(next->path);
    return;
  }
  if (next->lo < told) {
    next->offset += told - next->lo;
    next->lo = told;
  }
  space->n_mappings++;
}

static enum tide_err refused(const struct tide_space *space, struct tide_diag *diag)
{
  if (errno != EACCES && errno != EPERM)
    return tide_proc_fail(space->pid, diag);
  return tide_fail(diag, TIDE_ERR_SYSTEM,
                   "the memory of process %u may be looked at by its own user and by root",
                   space->pid);
}

static enum tide_err read_mappings(struct tide_space *space, struct tide_diag *diag)
{
  int fd = open_of(space->pid, "maps", O_RDONLY);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
  if (!f)
    return refused(space, diag);
  TIDE_CLEANUP_FREE char *line = NULL;
  size_t size = 0;
  errno = 0;
  while (getline(&line, &size, f) > 0)
    add_mapping(space, line);
  enum tide_err err = TIDE_ERR_OK;
  if (errno == EACCES || errno == EPERM)
    err = refused(space, diag);
  else if (!space->n_mappings)
    err = tide_fail(diag, TIDE_ERR_NOT_FOUND,
                    "process %u has no memory: it has ended, or is one of the kernel's own",
                    space->pid);
  fclose(f);
  return err;
}

bool tide_space_is_plain(const struct tide_space_mapping *mapping)
{
  return !mapping->shared && (!*mapping->path || strncmp(mapping->path, "[anon:", 6) == 0);
}

bool tide_space_is_anonymous(const struct tide_space_mapping *mapping)
{
  const char *path = mapping->path;
  return tide_space_is_plain(mapping) ||
         (!mapping->shared && (strcmp(path, "[heap]") == 0 || strcmp(path, "[stack]") == 0));
}

// Large pages from a pool of their own are in nobody's RSS.
static bool is_of_huge_pool(const struct tide_space_mapping *mapping)
{
  return strncmp(mapping->path, "/anon_hugepage", 14) == 0 ||
         strncmp(mapping->path, "/dev/hugepages/", 15) == 0;
}

// ---- pages ----

static void add_run(struct tide_space *space, struct tide_space_mapping *mapping, uint64_t lo,
                    uint64_t hi, uint64_t categories)
{
  bool huge = categories & TIDE_SCAN_HUGE;
  if (is_of_huge_pool(mapping)) {
    space->huge_pool += hi - lo;
    return;
  }
  mapping->resident += hi - lo;
  mapping->cached += categories & TIDE_SCAN_FILE ? hi - lo : 0;
  space->resident += hi - lo;
  space->huge += huge ? hi - lo : 0;
  struct tide_space_run *last = space->n_runs ? &space->runs[space->n_runs - 1] : NULL;
  if (last && last->hi == lo && last->huge == huge) {
    last->hi = hi;
    return;
  }
  TIDE_GROW(space->runs, space->n_runs, space->cap_runs);
  space->runs[space->n_runs++] = (struct tide_space_run){lo, hi, huge};
}

static void add_absent(struct tide_space_absent *absent, uint64_t lo, uint64_t hi)
{
  struct tide_space_run *last = absent->n ? &absent->items[absent->n - 1] : NULL;
  if (last && last->hi == lo) {
    last->hi = hi;
    return;
  }
  TIDE_GROW(absent->items, absent->n, absent->cap);
  absent->items[absent->n++] = (struct tide_space_run){lo, hi, false};
}

static void take_entry(struct tide_space *space, struct tide_space_mapping *mapping, uint64_t lo,
                       uint64_t entry)
{
  uint64_t hi = lo + space->page_bytes;
  if (entry & TIDE_PAGEMAP_PRESENT) {
    add_run(space, mapping, lo, hi, entry & TIDE_PAGEMAP_FILE ? TIDE_SCAN_FILE : 0);
  } else if (entry & TIDE_PAGEMAP_GUARD) {
    add_absent(&space->guards, lo, hi);
  } else if (entry & TIDE_PAGEMAP_SWAPPED) {
    add_absent(&space->swaps, lo, hi);
    space->swapped += hi - lo;
  }
}

// Entry by entry.
static void read_entries(struct tide_space *space, struct tide_space_mapping *mapping, uint64_t lo,
                         uint64_t hi)
{
  uint64_t entries[ENTRIES], page = space->page_bytes;
  for (uint64_t at = lo; at < hi;) {
    uint64_t want = (hi - at) / page;
    ssize_t got =
        pread(space->pagemap_fd, entries, (want < ENTRIES ? want : ENTRIES) * sizeof *entries,
              (off_t)(at / page * sizeof *entries));
    if (got < (ssize_t)sizeof *entries)
      return;
    for (size_t i = 0; i < (size_t)got / sizeof *entries; i++, at += page)
      take_entry(space, mapping, at, entries[i]);
  }
}

static void take_region(struct tide_space *space, struct tide_space_mapping *mapping, uint64_t lo,
                        uint64_t hi, uint64_t categories)
{
  if (!(categories & TIDE_SCAN_PRESENT))
    read_entries(space, mapping, lo, hi); // only there guards are told from what is swapped out
  else if (categories & TIDE_SCAN_ZERO_PAGE)
    space->zeros += hi - lo;
  else
    add_run(space, mapping, lo, hi, categories);
}

// False: the kernel cannot be asked this way.
static bool scan(struct tide_space *space, struct tide_space_mapping *mapping)
{
  struct tide_scan_region regions[TIDE_SCAN_REGIONS];
  uint64_t at = mapping->lo, told = at;
  while (at < mapping->hi) {
    struct tide_scan_request request = {
        .size = sizeof request,
        .start = at,
        .end = mapping->hi - at < SCAN_EMPTY_BYTES ? mapping->hi : at + SCAN_EMPTY_BYTES,
        .vec = (uint64_t)(uintptr_t)regions,
        .vec_len = TIDE_SCAN_REGIONS,
        .max_pages = SCAN_BYTES / space->page_bytes,
        .category_anyof_mask = TIDE_SCAN_PRESENT | TIDE_SCAN_SWAPPED,
        .return_mask = TIDE_SCAN_PRESENT | TIDE_SCAN_SWAPPED | TIDE_SCAN_ZERO_PAGE |
                       TIDE_SCAN_HUGE | TIDE_SCAN_FILE,
    };
    int n = ioctl(space->pagemap_fd, TIDE_SCAN, &request);
    if (n < 0)
      return false;
    for (int i = 0; i < n && i < TIDE_SCAN_REGIONS; i++) {
      uint64_t lo = regions[i].start > told ? regions[i].start : told;
      uint64_t hi = regions[i].end < mapping->hi ? regions[i].end : mapping->hi;
      if (hi > lo)
        take_region(space, mapping, lo, hi, regions[i].categories);
      told = hi > told ? hi : told;
    }
    if (request.walk_end <= at)
      return true; // it has gone
    at = request.walk_end;
  }
  return true;
}

static void read_pages(struct tide_space *space)
{
  space->knows_zeros = true;
  space->rss_before = read_rss(space);
  for (size_t i = 0; i < space->n_mappings; i++) {
    struct tide_space_mapping *mapping = &space->mappings[i];
    if (strcmp(mapping->path, "[vsyscall]") == 0)
      continue; // the kernel's own, at an address that no process has
    space->knows_zeros = space->knows_zeros && scan(space, mapping);
    if (!space->knows_zeros) // an older kernel
      read_entries(space, mapping, mapping->lo, mapping->hi);
  }
  space->rss_after = read_rss(space);
}

enum tide_err tide_space_take(uint32_t pid, struct tide_space **ret_space, struct tide_diag *diag)
{
  struct tide_space *space = tide_alloc(sizeof *space);
  *space = (struct tide_space){
      .pid = pid, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), .memory_fd = -1, .pagemap_fd = -1};
  enum tide_err err = read_mappings(space, diag);
  if (!err) {
    space->pagemap_fd = open_of(pid, "pagemap", O_RDONLY);
    space->memory_fd = open_of(pid, "mem", O_RDONLY);
    if (space->pagemap_fd < 0)
      err = tide_proc_fail(pid, diag);
  }
  if (!err) {
    read_pages(space);
    *ret_space = space;
  } else {
    tide_space_close(space);
  }
  return err;
}

void tide_space_close(struct tide_space *space)
{
  if (!space)
    return;
  for (size_t i = 0; i < space->n_mappings; i++)
    free(space->mappings[i].path);
  if (space->memory_fd >= 0)
    close(space->memory_fd);
  if (space->pagemap_fd >= 0)
    close(space->pagemap_fd);
  free(space->mappings);
  free(space->runs);
  free(space->swaps.items);
  free(space->guards.items);
  free(space);
}

// ---- questions ----

// The first run that ends behind an address.
static size_t search(const struct tide_space_run *runs, size_t n, uint64_t address)
{
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (runs[middle].hi <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Bytes of [lo, hi) in the runs from the first one on that can have some.
static uint64_t bytes_in(const struct tide_space_run *runs, size_t n, size_t first, uint64_t lo,
                         uint64_t hi)
{
  uint64_t bytes = 0;
  for (size_t i = first; i < n && runs[i].lo < hi; i++)
    bytes += (runs[i].hi < hi ? runs[i].hi : hi) - (runs[i].lo > lo ? runs[i].lo : lo);
  return bytes;
}

static bool ends_first_behind(const struct tide_space *space, size_t i, uint64_t address)
{
  return i < space->n_runs && space->runs[i].hi > address &&
         (i == 0 || space->runs[i - 1].hi <= address);
}

size_t tide_space_run_at(struct tide_space *space, uint64_t address)
{
  if (ends_first_behind(space, space->latest, address))
    return space->latest;
  if (ends_first_behind(space, space->latest + 1, address))
    return ++space->latest;
  return space->latest = search(space->runs, space->n_runs, address);
}

uint64_t tide_space_resident(struct tide_space *space, uint64_t lo, uint64_t hi)
{
  if (lo >= hi)
    return 0;
  return bytes_in(space->runs, space->n_runs, tide_space_run_at(space, lo), lo, hi);
}

uint64_t tide_space_swapped(const struct tide_space *space, uint64_t lo, uint64_t hi)
{
  const struct tide_space_absent *swaps = &space->swaps;
  if (lo >= hi || !swaps->n)
    return 0;
  return bytes_in(swaps->items, swaps->n, search(swaps->items, swaps->n, lo), lo, hi);
}

// The memory of a process that has ended, or become another, is empty. Whoever hears it first is
// the last to ask.
static bool read_memory(struct tide_space *space, uint64_t at, void *to, size_t n)
{
  if (space->memory_fd < 0)
    return false;
  ssize_t got = pread(space->memory_fd, to, n, (off_t)at);
  if (got == 0 && n) {
    close(space->memory_fd);
    space->memory_fd = -1;
    space->has_ended = true;
  }
  return got == (ssize_t)n;
}

bool tide_space_read(struct tide_space *space, uint64_t at, void *to, size_t n)
{
  return at + n > at && tide_space_resident(space, at, at + n) == n &&
         read_memory(space, at, to, n);
}

// Where the pages end that are in memory from an address on, now and not when the look was taken:
// to read one that was swapped out since would bring it back. A window at most.
static uint64_t end_of_present(const struct tide_space *space, uint64_t at, uint64_t most)
{
  uint64_t entries[WINDOW_BYTES / 4096 + 1], page = space->page_bytes, first = at / page;
  size_t n = (size_t)((most - 1) / page - first + 1), i = 0;
  ssize_t got =
      pread(space->pagemap_fd, entries, n * sizeof *entries, (off_t)(first * sizeof *entries));
  while (i < n && (ssize_t)((i + 1) * sizeof *entries) <= got && entries[i] & TIDE_PAGEMAP_PRESENT)
    i++;
  if (i == n)
    return most;
  return i ? (first + i) * page : at;
}

bool tide_space_fetch(struct tide_space *space, uint64_t at, void *to, size_t n)
{
  return at + n > at && read_memory(space, at, to, n);
}

// Where the pages in memory from an address on end, at most so far.
static uint64_t end_of_pages(struct tide_space *space, uint64_t at, uint64_t most)
{
  size_t i = tide_space_run_at(space, at);
  if (i == space->n_runs || space->runs[i].lo > at)
    return at;
  uint64_t end = space->runs[i].hi;
  while (end < most && ++i < space->n_runs && space->runs[i].lo == end)
    end = space->runs[i].hi;
  return end_of_present(space, at, end < most ? end : most);
}

bool tide_space_word(struct tide_space *space, struct tide_space_window *window, uint64_t at,
                     uint64_t *ret_word)
{
  if (at < window->lo || at + sizeof *ret_word > window->hi) {
    uint64_t end = end_of_pages(space, at, at + WINDOW_BYTES);
    window->lo = window->hi = 0;
    if (!window->bytes)
      window->bytes = tide_alloc(WINDOW_BYTES);
    if (end < at + sizeof *ret_word || !read_memory(space, at, window->bytes, (size_t)(end - at)))
      return false;
    window->lo = at;
    window->hi = end;
  }
  memcpy(ret_word, window->bytes + (at - window->lo), sizeof *ret_word);
  return true;
}

void tide_space_window_done(struct tide_space_window *window)
{
  free(window->bytes);
  *window = (struct tide_space_window){0};
}
