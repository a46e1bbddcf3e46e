// SPDX-License-Identifier: Apache-2.0
//
// A segment (32 MiB) is cut into slabs (128 KiB); a slab holds tables of one size. Its free tables
// are linked through their first words. An empty slab may become one of any size.
//
//   segment | descriptors of its slabs | slab 1 | slab 2 | ...      aligned to its size
//
// Fresh memory is left alone until it is used: a table costs the pages that its blocks touch. Large
// pages are not asked for: with them a pair is 5 % quicker at millions of live blocks, but the
// program stands still while one is cleared, for milliseconds in a virtual machine whose host takes
// back what is free.
#include "store/live_inside.h"

#include "rt/sys.h"

#include <string.h>
#include <sys/mman.h>

#define SEGMENT_BYTES (32ull << 20)
#define SLAB_BYTES (128ull << 10)
enum {
  SLABS = SEGMENT_BYTES / SLAB_BYTES, // slab 0 is where the descriptors are
  SLAB_LINES = SLAB_BYTES / TIDE_TABLE_LINE,
  SIZES = 160, // 1 to 32 lines, then 32 to each doubling
  MAX_SEGMENTS = 2048,
};

struct slab {
  struct slab *next, *prev; // of its size, with room; or of the empty ones
  void *free;               // first free table
  uint32_t bump, in_use;    // lines ever handed out since it has its size; tables in use
  uint32_t dirty;           // lines ever handed out: zero no more
  uint32_t lines;           // of a table
};

static struct tide_lock lock;
static char *segments[MAX_SEGMENTS] TIDE_BULKY;
static uint32_t n_segments, segment_at, slab_at; // the next slab that was never used
static struct slab *with_room[SIZES], *empty;

static uint32_t size_of(uint32_t lines)
{
  if (lines <= 32)
    return lines - 1;
  uint32_t shift = tide_bits(lines - 1) - 6;
  return shift * 32 + ((lines - 1) >> shift);
}

uint32_t tide_table_lines(uint32_t n)
{
  uint32_t size = size_of(n);
  return size < 32 ? size + 1 : (size % 32 + 33) << (size / 32 - 1);
}

static char *memory_of(const struct slab *slab)
{
  char *segment = (char *)((uint64_t)slab & ~(SEGMENT_BYTES - 1));
  return segment + (uint64_t)(slab - (struct slab *)segment) * SLAB_BYTES;
}

static struct slab *slab_of(const void *table)
{
  char *segment = (char *)((uint64_t)table & ~(SEGMENT_BYTES - 1));
  return (struct slab *)segment + ((uint64_t)table - (uint64_t)segment) / SLAB_BYTES;
}

static void list_add(struct slab **first, struct slab *slab)
{
  slab->prev = NULL;
  slab->next = *first;
  if (*first)
    (*first)->prev = slab;
  *first = slab;
}

static void list_remove(struct slab **first, struct slab *slab)
{
  if (slab->next)
    slab->next->prev = slab->prev;
  *(slab->prev ? &slab->prev->next : first) = slab->next;
}

static bool segment_new(void)
{
  if (n_segments == MAX_SEGMENTS)
    return false;
  char *p = tide_sys_map_aligned(SEGMENT_BYTES);
  if (!p)
    return false;
  segments[n_segments++] = p;
  return true;
}

static struct slab *slab_new(void)
{
  struct slab *slab = empty;
  if (slab) {
    list_remove(&empty, slab);
    return slab;
  }
  if (segment_at == n_segments && !segment_new())
    return NULL;
  char *segment = segments[segment_at];
  slab = (struct slab *)segment + 1 + slab_at;
  if (++slab_at == SLABS - 1) {
    slab_at = 0;
    segment_at++;
  }
  return slab;
}

static bool is_full(const struct slab *slab)
{
  return !slab->free && slab->bump + slab->lines > SLAB_LINES;
}

// Gives how many of its lines may be other than zero.
static void *table_of(struct slab *slab, uint32_t *ret_dirty)
{
  void *table = slab->free;
  *ret_dirty = slab->lines;
  if (table) {
    memcpy(&slab->free, table, sizeof slab->free);
  } else {
    table = memory_of(slab) + (uint64_t)slab->bump * TIDE_TABLE_LINE;
    *ret_dirty = slab->dirty > slab->bump ? slab->dirty - slab->bump : 0;
    *ret_dirty = *ret_dirty < slab->lines ? *ret_dirty : slab->lines;
    slab->bump += slab->lines;
    slab->dirty = slab->dirty > slab->bump ? slab->dirty : slab->bump;
  }
  slab->in_use++;
  return table;
}

void *tide_table_new(uint32_t n)
{
  uint32_t size = size_of(n), dirty = 0;
  void *table = NULL;
  tide_lock_take(&lock);
  struct slab *slab = with_room[size];
  if (!slab && (slab = slab_new())) {
    slab->free = NULL;
    slab->bump = slab->in_use = 0;
    slab->lines = tide_table_lines(n);
    list_add(&with_room[size], slab);
  }
  if (slab) {
    table = table_of(slab, &dirty);
    if (is_full(slab))
      list_remove(&with_room[size], slab);
  }
  tide_lock_drop(&lock);
  if (table && dirty) // in a fork child, the call alone would cost a page of libc's code
    memset(table, 0, (uint64_t)dirty * TIDE_TABLE_LINE);
  return table;
}

void tide_table_free(void *table, uint32_t n)
{
  struct slab **room = &with_room[size_of(n)], *slab = slab_of(table);
  tide_lock_take(&lock);
  bool was_full = is_full(slab);
  memcpy(table, &slab->free, sizeof slab->free);
  slab->free = table;
  if (was_full)
    list_add(room, slab);
  if (!--slab->in_use) {
    list_remove(room, slab);
    list_add(&empty, slab);
  }
  tide_lock_drop(&lock);
}

void tide_tables_after_fork(bool wiped)
{
  lock.held = 0;
  segment_at = slab_at = 0;
  empty = NULL;
  memset(with_room, 0, sizeof with_room);
  for (uint32_t i = 0; i < n_segments && !wiped; i++)
    TIDE_SYS(SYS_madvise, segments[i], SEGMENT_BYTES, MADV_DONTNEED);
}
