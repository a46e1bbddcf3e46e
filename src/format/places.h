// SPDX-License-Identifier: Apache-2.0
//
// Sites gathered by the line of code they are blamed on: many stacks, one place. This is what the
// text report shows, since ten rows of the same line reached from ten callers say less than one.
//
// Naming every stack of a large capture would read debug information nobody sees, so only the
// largest stacks are gathered; what the others hold is kept as the rest, never dropped.
#pragma once
#include "format/naming.h"
#include "profile/profile.h"

enum { TIDE_PLACES_STACKS_MAX = 1024 };

struct tide_place {
  struct tide_named_frame frame; // the culprit
  enum tide_site_kind kind;      // HEAP, or LOST for events without a stack
  int64_t measure;               // under the rank asked for
  uint64_t n_alloc;
  int64_t live_blocks, live_bytes;
  uint64_t live_age_ns_sum;
  uint32_t n_stacks;
};

struct tide_places {
  struct tide_place *items; // by falling measure
  size_t n;
  size_t n_stacks;       // heap stacks with anything under this rank
  size_t n_stacks_named; // of them gathered into items
  int64_t rest;          // measure of the stacks not gathered
};

// The profile must have been ranked by rank.
struct tide_places *tide_places_new(const struct tide_profile *profile, struct tide_naming *naming,
                                    enum tide_rank rank);
void tide_places_free(struct tide_places *places); // NULL is fine
