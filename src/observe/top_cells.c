// SPDX-License-Identifier: Apache-2.0
//
// See top_cells.h.
#include "observe/top_cells.h"

void tide_top_cells_put(struct tide_top_cells *top, struct tide_top_cell cell)
{
  struct tide_top_cell *items = top->items;
  uint32_t at = 0;
  if (top->n < TIDE_TOP_CELLS) { // up from the end
    at = top->n++;
    for (; at && items[(at - 1) / 2].bytes > cell.bytes; at = (at - 1) / 2)
      items[at] = items[(at - 1) / 2];
  } else { // down from the smallest, which goes
    for (uint32_t child; (child = 2 * at + 1) < top->n; at = child) {
      child += child + 1 < top->n && items[child + 1].bytes < items[child].bytes;
      if (items[child].bytes >= cell.bytes)
        break;
      items[at] = items[child];
    }
  }
  items[at] = cell;
}
