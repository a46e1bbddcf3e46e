// SPDX-License-Identifier: Apache-2.0
//
// The inputs of one program on their way into one image. Private to src/merge.
#pragma once
#include "base/err.h"
#include "model/model.h"

struct tide_merging {
  const struct tide_image **inputs; // in an order that does not depend on the user's
  size_t n_inputs;
  struct tide_image *image; // the result
  uint32_t **nodes;         // per input and frame of it: the image's frame; owned
};

// A time of an input, since its start.
static inline uint64_t tide_merge_time(const struct tide_image *input, uint64_t time_ns)
{
  return time_ns > input->start_ns ? time_ns - input->start_ns : 0;
}

// Modules, frames, threads, sites and stored names; fills nodes.
enum tide_err tide_merge_stacks(struct tide_merging *merging, struct tide_diag *diag);

// Refuses inputs that share no measure, or that count different things.
enum tide_err tide_merge_lacks_check(const struct tide_merging *merging, struct tide_diag *diag);
// What the image lacks and where it is from.
void tide_merge_lacks_set(struct tide_merging *merging);
// Takes off the image what it lacks. The numbers and the stacks must be there.
void tide_merge_lacks_forget(struct tide_merging *merging);

// Timeline, marks and snapshots. The stacks must be there.
void tide_merge_times(struct tide_merging *merging);
