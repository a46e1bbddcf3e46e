// SPDX-License-Identifier: Apache-2.0
//
// What a store had counted when its numbers were last reset: they count from there, and the
// recorder knows nothing of it. A copy of every cell is kept, packed, and taken off whenever the
// store is read, so that all readers of a view see what happened since; what was live then is told
// beside it, as blocks from before.
//
// What is allocated and freed is that of one instant, the end of an interval (intervals.h): events
// that were under way then are added when they are found. All else of a cell was read a little
// later, so while threads go on it may be a few events ahead.
#pragma once
#include "base/buf.h"
#include "observe/intervals.h"

// Numbers of a cell that only grow; histograms with what its streaks have.
struct tide_before_cell {
  struct tide_tally did;
  uint64_t high_bytes, life_sum, n_temp, b_temp;
  uint64_t n_foreign, n_resize, b_resize_old, b_resize_new, n_moved, b_moved;
  uint64_t n_looked, b_looked, b_touched;
  uint64_t n_samples, alloc_blocks_spread, alloc_bytes_spread;
  uint64_t n_events, events_weight; // of a cell of ad hoc events
  uint64_t sizes[TIDE_SIZE_BUCKETS], lives[TIDE_LIFE_BUCKETS];
};

struct tide_before {
  uint64_t time_ns;                // CLOCK_MONOTONIC
  struct tide_tally heap;          // sums of all heap cells
  struct tide_resizes resizes;     // likewise
  struct tide_store_header header; // as it was
  struct tide_buf bytes;           // cells, packed
  uint64_t *places;                // of cells by id, in the bytes; 0: none
  uint32_t n_places;
};

// Of a store as it is now, of which the intervals took the latest walk. The view's nodes must be up
// to date.
struct tide_before *tide_before_new(struct tide_store_view *view,
                                    const struct tide_intervals *intervals, uint64_t time_ns);
void tide_before_free(struct tide_before *before); // NULL is fine

// What a cell had; false: nothing.
bool tide_before_cell(const struct tide_before *before, uint32_t cell,
                      struct tide_before_cell *ret);

// The histograms of a cell as it is, into ones that are all zero.
void tide_before_histograms(const struct tide_whole_cell *whole, struct tide_before_cell *ret);

// A cell had more than was seen then.
void tide_before_add(struct tide_before *before, uint32_t cell, bool is_heap,
                     const struct tide_tally *more);

// What was counted since. A walk may have missed what was under way at the reset.
static inline uint64_t tide_more_than(uint64_t now, uint64_t before)
{
  return now > before ? now - before : 0;
}
