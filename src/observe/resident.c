// SPDX-License-Identifier: Apache-2.0
//
// Counting resident pages. A page that is only read and was never written is the kernel's one page
// of zeros: it is mapped, and in nobody's RSS.
#define _GNU_SOURCE
#include "observe/rss.h"

#include "base/alloc.h"
#include "base/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES 4096

// Of a store that a tracer made, the recorder maps no more than it asks for.
static uint64_t mapped_bytes(const struct tide_store_view *view)
{
  uint64_t bytes = view->header.store_bytes;
  return bytes && bytes < view->file_bytes ? bytes : view->file_bytes;
}

static int open_of(uint32_t pid, const char *name)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
  return tide_proc_is_ours() ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

void tide_resident_open(struct tide_resident *resident, uint32_t pid)
{
  *resident = (struct tide_resident){.pid = pid, .statm_fd = -1, .pagemap_fd = -1, .scans = true};
}

static void open_files(struct tide_resident *resident)
{
  if (!resident->pid)
    return;
  resident->statm_fd = open_of(resident->pid, "statm");
  resident->pagemap_fd = open_of(resident->pid, "pagemap");
  resident->pid = 0;
}

void tide_resident_close(struct tide_resident *resident)
{
  if (resident->statm_fd >= 0)
    close(resident->statm_fd);
  if (resident->pagemap_fd >= 0)
    close(resident->pagemap_fd);
  free(resident->ranges);
  *resident = (struct tide_resident){.statm_fd = -1, .pagemap_fd = -1};
}

static uint64_t page_bytes(void)
{
  return (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool is_sane(struct tide_range range)
{
  return range.bytes > 1 && range.start % 4096 == 0 && range.start + range.bytes > range.start &&
         range.start + range.bytes < UINT64_C(1) << 56;
}

// Gives how many ranges there are; 0: not all are known.
static size_t read_ranges(struct tide_resident *resident, const struct tide_store_view *view)
{
  const struct tide_area *area = &view->areas.ranges;
  size_t n = view->header.n_ranges, kept = 0;
  if (n > area->capacity)
    return 0;
  if (n > resident->cap_ranges) {
    resident->cap_ranges = n;
    resident->ranges = tide_realloc_array(resident->ranges, n, sizeof *resident->ranges);
  }
  if (n)
    tide_store_view_items(view, area, sizeof *resident->ranges, 0, resident->ranges, n);
  for (size_t i = 0; i < n; i++) {
    struct tide_range range = resident->ranges[i];
    if (!is_sane(range))
      continue;
    resident->ranges[kept++] = range;
    if (range.bytes == mapped_bytes(view))
      resident->home = range.start;
  }
  return kept;
}

// Is the memory still the image's? Asked after whatever it vouches for: exec and exit do not come
// back, and the first page of the store is always there.
static bool is_there(struct tide_resident *resident, const struct tide_store_view *view)
{
  uint64_t entry = 0, page = page_bytes();
  if (resident->pagemap_fd < 0)
    return true; // as far as anybody may know
  if (!resident->home)
    read_ranges(resident, view);
  off_t at = (off_t)(resident->home / page * sizeof entry);
  return pread(resident->pagemap_fd, &entry, sizeof entry, at) == sizeof entry &&
         (!resident->home || entry & TIDE_PAGEMAP_PRESENT);
}

struct statm {
  unsigned long long size_pages, resident_pages, shared_pages;
};

static bool read_statm(struct tide_resident *resident, struct statm *ret_statm)
{
  char text[128];
  open_files(resident);
  ssize_t n = resident->statm_fd < 0 ? 0 : pread(resident->statm_fd, text, sizeof text - 1, 0);
  if (n <= 0)
    return false;
  text[n] = 0;
  return sscanf(text, "%llu %llu %llu", &ret_statm->size_pages, &ret_statm->resident_pages,
                &ret_statm->shared_pages) == 3;
}

// Whoever records has a store mapped; a process just replaced by exec has next to nothing.
static bool has_store(const struct statm *statm, const struct tide_store_view *view)
{
  return statm->size_pages * page_bytes() >= mapped_bytes(view);
}

uint64_t tide_resident_all(struct tide_resident *resident, const struct tide_store_view *view)
{
  struct statm statm;
  if (!read_statm(resident, &statm) || !has_store(&statm, view) || !is_there(resident, view))
    return 0;
  uint64_t anonymous =
      statm.resident_pages > statm.shared_pages ? statm.resident_pages - statm.shared_pages : 0;
  if (!resident->has_looked)
    resident->first_anonymous_bytes = anonymous * page_bytes();
  resident->has_looked = true;
  if (anonymous * page_bytes() > resident->max_anonymous_bytes)
    resident->max_anonymous_bytes = anonymous * page_bytes();
  return statm.resident_pages * page_bytes();
}

bool tide_resident_has_left(struct tide_resident *resident, const struct tide_store_view *view)
{
  struct statm statm;
  return read_statm(resident, &statm) && !has_store(&statm, view);
}

struct counted {
  uint64_t bytes, file_bytes; // of these, of a file or of shared memory
};

// False: the kernel cannot be asked this way.
static bool scan_range(int fd, struct tide_range range, struct counted *ret_counted)
{
  struct tide_scan_region regions[TIDE_SCAN_REGIONS];
  struct counted counted = {0};
  uint64_t at = range.start, end = range.start + range.bytes, told = at;
  while (at < end) {
    struct tide_scan_request request = {
        .size = sizeof request,
        .start = at,
        .end = end,
        .vec = (uint64_t)(uintptr_t)regions,
        .vec_len = TIDE_SCAN_REGIONS,
        .category_inverted = TIDE_SCAN_ZERO_PAGE,
        .category_mask = TIDE_SCAN_PRESENT | TIDE_SCAN_ZERO_PAGE,
        .return_mask = TIDE_SCAN_PRESENT | TIDE_SCAN_FILE,
    };
    int n = ioctl(fd, TIDE_SCAN, &request);
    if (n < 0)
      return false;
    for (int i = 0; i < n && i < TIDE_SCAN_REGIONS; i++) {
      uint64_t from = regions[i].start > told ? regions[i].start : told;
      uint64_t more = regions[i].end > from ? regions[i].end - from : 0;
      counted.bytes += more;
      counted.file_bytes += regions[i].categories & TIDE_SCAN_FILE ? more : 0;
      told = regions[i].end > told ? regions[i].end : told;
    }
    if (request.walk_end <= at)
      break;
    at = request.walk_end;
  }
  *ret_counted = counted;
  return true;
}

// Entry by entry, for older kernels. They do not tell the page of zeros, but that is shared by all:
// a page of nobody else's is a real one. What a fork child still shares with its parent is missed.
static struct counted count_entries(int fd, struct tide_range range)
{
  struct counted counted = {0};
  uint64_t entries[ENTRIES], page = page_bytes();
  uint64_t at = range.start / page, end = (range.start + range.bytes + page - 1) / page;
  while (at < end) {
    size_t want = end - at < ENTRIES ? (size_t)(end - at) : ENTRIES;
    ssize_t got = pread(fd, entries, want * sizeof *entries, (off_t)(at * sizeof *entries));
    if (got <= 0)
      break;
    size_t n = (size_t)got / sizeof *entries;
    for (size_t i = 0; i < n; i++)
      if (entries[i] & TIDE_PAGEMAP_PRESENT &&
          entries[i] & (TIDE_PAGEMAP_FILE | TIDE_PAGEMAP_EXCLUSIVE)) {
        counted.bytes += page;
        counted.file_bytes += entries[i] & TIDE_PAGEMAP_FILE ? page : 0;
      }
    at += n;
  }
  return counted;
}

// The store is the one large range, and next to nothing of it is in use: the file knows where.
static struct counted count_store(int fd, const struct tide_store_view *view,
                                  struct tide_range range)
{
  struct counted counted = {0};
  off_t data = lseek(view->fd, 0, SEEK_DATA);
  while (data >= 0 && (uint64_t)data < range.bytes) {
    off_t hole = lseek(view->fd, data, SEEK_HOLE);
    if (hole <= data)
      break;
    uint64_t end = (uint64_t)hole < range.bytes ? (uint64_t)hole : range.bytes;
    struct counted more =
        count_entries(fd, (struct tide_range){range.start + (uint64_t)data, end - (uint64_t)data});
    counted.bytes += more.bytes;
    counted.file_bytes += more.file_bytes;
    data = lseek(view->fd, hole, SEEK_DATA);
  }
  return counted;
}

uint64_t tide_resident_recorder(struct tide_resident *resident, const struct tide_store_view *view)
{
  uint64_t bytes = 0;
  open_files(resident);
  resident->recorder_shared_bytes = resident->recorder_file_bytes = 0;
  size_t n = resident->pagemap_fd < 0 ? 0 : read_ranges(resident, view);
  for (size_t i = 0; i < n; i++) {
    struct tide_range range = resident->ranges[i];
    struct counted more = {0};
    resident->scans = resident->scans && scan_range(resident->pagemap_fd, range, &more);
    if (!resident->scans)
      more = range.bytes == mapped_bytes(view) ? count_store(resident->pagemap_fd, view, range)
                                               : count_entries(resident->pagemap_fd, range);
    bytes += more.bytes;
    if (range.start == resident->home)
      resident->recorder_shared_bytes = more.file_bytes;
    else
      resident->recorder_file_bytes += more.file_bytes;
  }
  return is_there(resident, view) ? bytes : 0;
}
