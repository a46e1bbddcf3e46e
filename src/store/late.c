// SPDX-License-Identifier: Apache-2.0
//
// Counting late frees. A chunk goes round: free, taken by a thread, closed by it, and made free by
// the supervisor when it has read it. When none is free, which needs more than half a million
// different pairs of cell and birth within two intervals, late frees are lost, and counted.
//
// The states are what the two sides tell each other. That a chunk is a thread's, and of which other
// chunks, is known here, whatever its state says: no two threads have the same one.
#include "store/late.h"

#include "rt/sys.h"

#include <string.h>

enum { FIRST_ENTRIES = 256, MOST_ENTRIES = 1 << 17 };

static struct {
  uint32_t taken;  // by a thread of ours; atomic
  uint32_t before; // index + 1 of that thread's chunk before this one; 0: none
} seats[TIDE_LATE_CHUNKS] TIDE_BULKY;
static uint32_t n_seats;      // behind the last that was ever taken
static struct tide_lock lock; // to take one

void tide_late_attach(void)
{
  lock.held = 0; // its holder may have stayed in the parent
  memset(seats, 0, n_seats * sizeof *seats);
  n_seats = 0;
}

// Places of rows are in words from the first chunk, which itself is never one.
TIDE_HOT struct tide_late_row *row_at(uint32_t place)
{
  return (struct tide_late_row *)((uint64_t *)tide_store.lates + place);
}

static uint32_t place_of(const struct tide_late_row *row)
{
  return (uint32_t)((const uint64_t *)row - (const uint64_t *)tide_store.lates);
}

// The entry of a row, or the empty one where it belongs.
TIDE_HOT uint32_t *index_entry(const struct tide_lates *l, uint64_t key)
{
  uint32_t i = (uint32_t)(tide_mix64(key) >> 40) & l->index_mask;
  while (l->index[i] && row_at(l->index[i])->key != key)
    i = (i + 1) & l->index_mask;
  return &l->index[i];
}

static void index_clear(struct tide_lates *l)
{
  if (l->index)
    memset(l->index, 0, (l->index_mask + 1ull) * sizeof *l->index);
  l->index_used = 0;
}

// An index that is full forgets its rows and begins anew, twice as large if it may.
static void index_grow(struct tide_lates *l)
{
  uint64_t n = l->index ? (l->index_mask + 1ull) * 2 : FIRST_ENTRIES;
  uint32_t *index = n <= MOST_ENTRIES ? tide_sys_map_private(n * sizeof *index) : NULL;
  if (!index) {
    index_clear(l);
    return;
  }
  if (l->index)
    tide_sys_unmap(l->index, n / 2 * sizeof *l->index);
  l->index = index;
  l->index_mask = (uint32_t)(n - 1);
  l->index_used = 0;
}

// The first free chunk from where the last was found. Behind the end only when late_next says so:
// the supervisor sets it back to 0 whenever it has made chunks free, so a full table costs a look.
static uint32_t free_chunk(void)
{
  uint32_t n = (uint32_t)tide_store.areas.lates.capacity;
  uint32_t i = tide_load_relaxed(&tide_store.header->late_next);
  while (i < n && (tide_load_relaxed(&seats[i].taken) ||
                   tide_load_acquire(&tide_store.lates[i].state) != TIDE_LATE_FREE))
    i++;
  return i < n ? i : n;
}

static bool chunk_take(struct tide_lates *l)
{
  struct tide_store_header *h = tide_store.header;
  tide_lock_take(&lock);
  uint32_t i = free_chunk();
  bool found = i < tide_store.areas.lates.capacity;
  if (found) {
    struct tide_late_chunk *chunk = &tide_store.lates[i];
    tide_store_relaxed(&seats[i].taken, 1);
    seats[i].before = l->chunk;
    l->chunk = i + 1;
    l->n_rows = 0;
    n_seats = n_seats > i ? n_seats : i + 1;
    chunk->n_rows = 0; // first: one that is killed now leaves no rows of another time
    chunk->interval = l->interval;
    tide_store_release(&chunk->state, TIDE_LATE_TAKEN);
    tide_store_release(&h->late_end, n_seats);
  }
  tide_store_relaxed(&h->late_next, i + found);
  tide_lock_drop(&lock);
  return found;
}

// NULL: no room for it.
static struct tide_late_row *row_new(struct tide_lates *l, uint64_t key)
{
  bool full = !l->chunk || l->n_rows == TIDE_LATE_ROWS;
  if (full && !chunk_take(l))
    return NULL;
  struct tide_late_chunk *chunk = &tide_store.lates[l->chunk - 1];
  struct tide_late_row *row = &chunk->rows[l->n_rows++];
  *row = (struct tide_late_row){.key = key};
  tide_store_release(&chunk->n_rows, l->n_rows);
  if (!l->index || (l->index_used + 1) * 8ull > (l->index_mask + 1ull) * 5)
    index_grow(l);
  if (l->index) {
    *index_entry(l, key) = place_of(row);
    l->index_used++;
  }
  return row;
}

TIDE_COLD void tide_late_close(struct tide_lates *l)
{
  if (!l->chunk)
    return;
  for (uint32_t i = l->chunk, next; i; i = next) {
    next = seats[i - 1].before; // another thread may take it at once
    tide_store_release(&tide_store.lates[i - 1].state, TIDE_LATE_CLOSED);
    tide_store_release(&seats[i - 1].taken, 0);
  }
  l->chunk = 0;
  index_clear(l);
  memset(l->recent, 0, sizeof l->recent);
}

__attribute__((noinline)) struct tide_late_row *
tide_late_row_by_index(struct tide_lates *l, uint64_t key, uint32_t interval)
{
  if (l->interval != interval)
    tide_late_close(l);
  l->interval = interval;
  uint32_t place = l->index ? *index_entry(l, key) : 0;
  struct tide_late_row *row = place ? row_at(place) : row_new(l, key);
  if (!row) {
    tide_add_relaxed(&tide_store.header->n_late_lost, 1);
    return NULL;
  }
  l->recent[tide_late_recent(key)].key = key;
  l->recent[tide_late_recent(key)].row = row;
  return row;
}
