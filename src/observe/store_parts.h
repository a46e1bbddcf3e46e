// SPDX-License-Identifier: Apache-2.0
//
// Cells of a store with their parts (store/layout.h, invariant 8), wherever those lie. Numbers of
// parts come from the store: one that is not of its table means no part.
#pragma once
#include "observe/store_view.h"

// A cell and its parts, copied; what it has not is zero. A single is told as if it had its parts.
struct tide_whole_cell {
  struct tide_cell cell; // its stamp's interval is one; what waits is included
  struct tide_ends ends;
  struct tide_past past;
  bool has_hist;
  struct tide_hist hist, carry; // if it has
};

// The interval of a cell by its stamp, single or not.
static inline uint32_t tide_stamp_interval(struct tide_stamp stamp)
{
  return stamp.interval & TIDE_SINGLE ? TIDE_SINGLE_ENDED(stamp.interval) : stamp.interval;
}

// For a visitor: cell i of its block.
void tide_whole_cell_read(struct tide_store_view *view, const struct tide_cell_block *block,
                          uint32_t i, bool with_carries, struct tide_whole_cell *ret);

// The closings of a cell whose stamp was as given when it was looked at.
void tide_closings_read(struct tide_store_view *view, const struct tide_cell *cell,
                        struct tide_stamp stamp, struct tide_closing ret[2]);

// What it says of resizes; false: nothing.
bool tide_resizes_read(struct tide_store_view *view, const struct tide_cell *cell,
                       struct tide_past *ret);

// Forgets what was read of parts: they may have changed. And frees it.
void tide_store_parts_forget(struct tide_store_view *view);
void tide_store_parts_done(struct tide_store_view *view);

// In place are the first n items of a table from now on, if they can be.
void tide_store_map_cover(const struct tide_store_view *view, const struct tide_area *area,
                          size_t bytes_each, uint64_t n, struct tide_store_map *map);
void tide_store_map_done(struct tide_store_map *map);
