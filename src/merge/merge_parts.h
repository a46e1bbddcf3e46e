// SPDX-License-Identifier: Apache-2.0
//
// The parts of one program on their way into one image. Private to src/merge.
#pragma once
#include "merge/merge.h"

struct tide_merging {
  const struct tide_image **parts; // in an order that does not depend on the user's
  size_t n_parts;
  struct tide_image *image; // the result
  uint32_t **nodes;         // per part and frame of it: the image's frame; owned
};

// A time of a part, since its start.
static inline uint64_t tide_merge_time(const struct tide_image *part, uint64_t time_ns)
{
  return time_ns > part->start_ns ? time_ns - part->start_ns : 0;
}

// Modules, frames, threads, sites and stored names; fills nodes.
enum tide_err tide_merge_stacks(struct tide_merging *merging, struct tide_diag *diag);

// Stored names of all parts. An address in a module has the same names in all parts that it has
// them of; see merge_names.c.
struct tide_merge_names;
struct tide_merge_names *tide_merge_names_new(void);
void tide_merge_names_free(struct tide_merge_names *names);
// Adds a part's; modules: from its to the image's. Gives the address that each of its places has in
// the image, owned by the caller.
uint64_t *tide_merge_names_add(struct tide_merge_names *names, const struct tide_image *part,
                               const struct tide_image *image, const uint32_t *modules);
// False when they are more than a capture can hold.
bool tide_merge_names_finish(struct tide_merge_names *names, struct tide_image *image);

// Refuses parts that share no measure, or that count different things.
enum tide_err tide_merge_lacks_check(const struct tide_merging *merging, struct tide_diag *diag);
// What the image lacks and where it is from.
void tide_merge_lacks_set(struct tide_merging *merging);
// Takes off the image what it lacks. The numbers and the stacks must be there.
void tide_merge_lacks_forget(struct tide_merging *merging);

// Timeline, marks and snapshots. The stacks must be there.
void tide_merge_times(struct tide_merging *merging);
