// SPDX-License-Identifier: Apache-2.0
//
// How far a capture can be believed: one answer for the report, JSON, the page, diffs and gates.
// Completeness is a statement about the whole run: every event of the image shown, with its whole
// stack, and no program of the run that ran unrecorded.
#pragma once
#include "profile/profile.h"

struct tide_completeness {
  bool image_is_whole;               // every event of the image was counted, with its whole stack
  bool image_is_hollow;              // its allocator was its own: its numbers are not what it used
  bool run_is_known;                 // which programs ran unrecorded is known
  bool run_is_whole;                 // and none did, as far as is known
  size_t n_partial;                  // other images of the run of which something is missing
  uint64_t n_recorded, n_unrecorded; // process images of the run
};

// Frees of blocks that nobody saw allocated, in a process that the agent saw from its beginning:
// its allocator has a way in that is not hooked. Of others such blocks are from before.
uint64_t tide_image_unseen(const struct tide_image *image);

// Every event of the image was counted, with its whole stack, and no fork child of it was lost.
bool tide_image_is_whole(const struct tide_image *image);

void tide_completeness_judge(const struct tide_profile *profile,
                             struct tide_completeness *ret_completeness);

// All of the capture: each image is whole, and nothing ran unrecorded.
bool tide_capture_is_complete(const struct tide_capture *capture);

// What the first screen leads with: the command, unless another program had more than twice its
// memory; then the largest. Memory is the resident set; below 16 MiB, where that is libraries for
// the most part, the heap's peak.
struct tide_lead {
  size_t image_idx; // the recorded image to show; none with an allocator of its own if there is
                    // another
  const struct tide_unrecorded *unrecorded; // the program that should lead and was not recorded;
                                            // NULL: it is the image
};

// The capture must have images.
void tide_lead_find(const struct tide_capture *capture, struct tide_lead *ret_lead);

// The image a reader means: which == NULL gives the one that leads; otherwise a pid (of
// several images of it, the largest) or else an index; "#2" is an index always.
enum tide_err tide_profile_pick(const struct tide_capture *capture, const char *which,
                                size_t *ret_image_idx, struct tide_diag *diag);

// Is the allocator of the image its own, so that it is on the roll?
const struct tide_unrecorded *tide_image_on_roll(const struct tide_capture *capture,
                                                 const struct tide_image *image);

// No allocator of it was known, so that it holds pages and no blocks.
bool tide_profile_is_pages_alone(const struct tide_profile *profile);

// Why a gate cannot decide by this profile, as a clause to follow "before: "; NULL: it can. free().
char *tide_completeness_gate(const struct tide_profile *profile);
