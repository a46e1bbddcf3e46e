// SPDX-License-Identifier: Apache-2.0
//
// What threads have not booked yet: each one's latest events wait in its slot (store/run.h). To
// whoever reads the store they are as good as booked.
//
// A thread may go on with its run, or book it, while we read: a run counts only if it was the same
// before its cell was read and after. Before it is booked it is gone from its slot, so it is never
// seen twice; of a busy thread it may be missing for a moment.
#pragma once
#include "store/layout.h"
#include <stdbool.h>
#include <stddef.h>

struct tide_store_view;

struct tide_store_run {
  uint32_t slot;
  struct tide_run run; // as it was found
};
struct tide_store_runs { // by cell
  struct tide_store_run *items;
  size_t n, cap;
};

// Looks at all slots. What begins to wait later is not looked for.
void tide_store_runs_find(struct tide_store_view *view);

// Does anything wait for the n cells from `first` on?
bool tide_store_runs_any(const struct tide_store_view *view, uint32_t first, uint32_t n);
// Adds it to copies of these cells.
void tide_store_runs_add(const struct tide_store_view *view, uint32_t first, uint32_t n,
                         struct tide_cell *cells);
// The ends of temporaries that wait for one cell, which is in the given interval; false: none.
bool tide_store_runs_ended(const struct tide_store_view *view, uint32_t cell, uint32_t interval,
                           uint64_t *ret_n, uint64_t *ret_bytes);

// Bytes that wait in a slot.
static inline uint64_t tide_run_open_bytes(const struct tide_run *run)
{
  return run->cell && run->open ? run->open - 1 : 0;
}
