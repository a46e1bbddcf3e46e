// SPDX-License-Identifier: Apache-2.0
//
// When what answers a question was allocated: the answer in parts, one for each interval between
// two snapshots, that add up to it. Known of what was allocated where the snapshots count it, and
// of what was held at a moment where late frees are known (see docs/tide-format.md).
#pragma once
#include "profile/question.h"

struct tide_births {
  const struct tide_image *image; // not owned
  size_t first, past;             // snapshots that end the intervals asked about
  // Private.
  bool in_bytes, of_held;
  size_t *first_late; // per snapshot, and one more: where its rows begin in
  uint32_t *late_of;  // late frees by the interval of birth; both NULL: not needed
};

// False when it is not known, or when there is but one part; then there is nothing to be done.
bool tide_births_init(struct tide_births *births, const struct tide_image *image,
                      const struct tide_question *question);
void tide_births_done(struct tide_births *births);

// Adds the part of the interval that a snapshot ends to the sums, one per frame of the image, of
// the stacks that are wanted; sums are signed in meaning, modulo 2^64, and never negative unless
// the capture is damaged. Gives what was added in all. Nothing at the peak, which ends none.
uint64_t tide_births_add(const struct tide_births *births, size_t snapshot, const uint8_t *wanted,
                         uint64_t *sums);
