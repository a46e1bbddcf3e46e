// SPDX-License-Identifier: Apache-2.0
//
// Sites gathered by the line of code they are blamed on: many stacks, one place. This is what the
// text report shows, since ten rows of the same line reached from ten callers say less than one.
//
// Naming every address of a large program would read debug information nobody sees, so the number
// of look-ups is limited, spent on the largest stacks first; what could not be placed is kept as
// the rest, never dropped.
#pragma once
#include "view/view.h"

enum { TIDE_PLACES_LOOKUPS_MAX = 4096 };

struct tide_place {
  const struct tide_named_frame *frame; // the culprit, the naming's; NULL: events without a stack
  int64_t measure;                      // under the question asked
  uint64_t n_alloc, b_alloc, n_free, b_free, n_temp, n_resize;
  int64_t live_blocks, live_bytes;
  int64_t peak_blocks, peak_bytes;
  uint64_t live_age_ns_sum;
  uint32_t n_stacks;
};

struct tide_places {
  struct tide_place *items; // by falling measure
  size_t n;
  size_t n_stacks;        // heap stacks with any weight
  size_t n_stacks_placed; // of them gathered into items
  struct tide_place rest; // sums of the stacks not gathered; no frame
};

struct tide_places *tide_places_new(struct tide_view *view);
void tide_places_free(struct tide_places *places); // NULL is fine

// How many of the first n_max places weigh min_measure or more.
size_t tide_places_shown(const struct tide_places *places, size_t n_max, int64_t min_measure);

// Sums of everything past the first n_shown places; measure 0 when there is nothing.
struct tide_place tide_places_rest(const struct tide_places *places, size_t n_shown);

// Whether two culprits are the same place, as an order: 0 when they are. Neither is NULL.
int tide_place_compare(const struct tide_named_frame *a, const struct tide_named_frame *b);
