// SPDX-License-Identifier: Apache-2.0
//
// Live bytes or blocks of stacks over time: one value per snapshot of an image, for a stack or for
// all the stacks of a row of some table, and how much of that was never given back.
//
// A timeline refers to the image it was made from and must not outlive it. It is made once, in two
// passes over all rows of all snapshots, of the stacks that will be asked for or, where nobody says
// which, of all; a curve then costs what the stacks asked for have rows.
#pragma once
#include "model/model.h"
#include "profile/question.h"

struct tide_timeline_point {
  uint32_t snapshot, row; // in the image's snapshots
};

struct tide_timeline {
  const struct tide_image *image;
  size_t n_times;
  uint64_t *times_ns;                 // of the snapshots; never falling
  size_t *first;                      // per frame, and one more: where its points begin
  struct tide_timeline_point *points; // where anything was live, by stack, then by time
};

// stacks NULL: all of them.
struct tide_timeline *tide_timeline_new(const struct tide_image *image, const uint32_t *stacks,
                                        size_t n_stacks);
void tide_timeline_free(struct tide_timeline *timeline); // NULL is fine

// Fills n_times values each, summed over stacks that are all different:
//
//   live  what was live. Exact at the peak and at the end; at other times as exact as a look at a
//         running program is. Never negative.
//   kept  the part of it that was never freed, at most: of each stack the least that was live then
//         or at any later snapshot, since a block that is never freed is live in all of them.
//         Blocks that are freed and replaced between two snapshots look as if they were kept. Never
//         falls, never exceeds live, and at the end equals it. Nothing where the
//         image does not hold what was live at the end. NULL: nobody asks.
void tide_timeline_sum(const struct tide_timeline *timeline, const uint32_t *stacks,
                       size_t n_stacks, enum tide_unit unit, int64_t *ret_live, int64_t *ret_kept);

// Reduces a curve to `width` columns that share the image's time from start to end: the largest
// value within each, so that no peak is lost. A column in which nobody looked holds what was known
// last, 0 before the first look. Of a curve and its kept part, the columns keep their order too.
void tide_timeline_columns(const struct tide_timeline *timeline, const int64_t *curve, size_t width,
                           int64_t *ret_columns);

// Which of `width` columns (at least one) a moment of an image's time falls into.
size_t tide_column_of(const struct tide_image *image, uint64_t time_ns, size_t width);

// As tide_timeline_columns(), for any n values of times that never fall.
void tide_columns_highest(const uint64_t *times_ns, const int64_t *values, size_t n,
                          const struct tide_image *image, size_t width, int64_t *ret_columns);

// ---- when it was allocated ----
//
// When what answers a question was allocated: the answer in parts, one for each interval between
// two snapshots, that add up to it. Known of what was allocated where the snapshots count it, and
// of what was held at a moment where late frees are known (see docs/tide-format.md).

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
