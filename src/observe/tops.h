// SPDX-License-Identifier: Apache-2.0
//
// What the largest stacks hold, at every tick: between two snapshots nobody looks at all cells, but
// a few can be looked at each time. At a snapshot those cells are chosen that hold most, and of
// their stacks the largest; what such a stack holds then is known exactly, of all its cells.
// Between this snapshot and the next it is that and what the chosen cells hold more: cells of other
// threads that were small, or not there yet, are missed until then.
//
// Only of a store that is mapped. At most TIDE_TOP_STACKS at a time.
#pragma once
#include "model/model.h"
#include "observe/top_cells.h"

#include <stdint.h>

#define TIDE_TOP_STACKS 32u
struct tide_top_value {
  uint32_t stack;
  int64_t bytes;
};

struct tide_tops {
  struct tide_top_value stacks[TIDE_TOP_STACKS]; // at the last snapshot, by rising stack
  uint32_t n_stacks;
  struct tide_top_cell cells[TIDE_TOP_CELLS]; // of these; bytes: at the last snapshot
  uint32_t n_cells;
};

struct tide_intervals;
struct tide_store_view;

// Chooses anew, behind a walk for a snapshot; at most so many stacks.
void tide_tops_choose(struct tide_tops *tops, const struct tide_intervals *intervals,
                      const struct tide_store_view *view, uint32_t n_most);

// What they hold now: an owned copy, tops->n_stacks of them; NULL: none.
struct tide_top_value *tide_tops_read(const struct tide_tops *tops, struct tide_store_view *view);

// ---- telling ----

// What a tick has of these.
struct tide_top_tick {
  const struct tide_top_value *values;
  uint32_t n;
};

// Gives the image what those held at its ticks that ever held most; of the ticks as the image has
// them, as many.
void tide_tops_fill_image(const struct tide_top_tick *ticks, struct tide_image *image);
