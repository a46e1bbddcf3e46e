// SPDX-License-Identifier: Apache-2.0
//
// The cells that hold most, found on a walk over all of them.
#pragma once
#include <stdint.h>

#define TIDE_TOP_CELLS 128u

struct tide_top_cell {
  uint32_t cell, stack;
  int64_t bytes;
};

// The cells that hold most, as a heap whose first is the smallest.
struct tide_top_cells {
  struct tide_top_cell items[TIDE_TOP_CELLS];
  uint32_t n;
};

void tide_top_cells_put(struct tide_top_cells *top, struct tide_top_cell cell);

static inline void tide_top_cells_offer(struct tide_top_cells *top, struct tide_top_cell cell)
{
  if (cell.bytes > 0 && (top->n < TIDE_TOP_CELLS || cell.bytes > top->items[0].bytes))
    tide_top_cells_put(top, cell);
}
