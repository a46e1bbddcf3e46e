// SPDX-License-Identifier: Apache-2.0
//
// Moments of a run bound to what a capture knows of them. Live bytes per stack are known at the
// snapshots, those of the peak and the end among them; a moment in between is answered by the
// nearest one, and says which.
#pragma once
#include "base/err.h"
#include "model/model.h"

#define TIDE_POINT_START SIZE_MAX // snapshot index of the start: nothing was there

struct tide_point {
  bool given;
  uint64_t asked_ns; // since the image's start
  uint64_t seen_ns;  // of the snapshot that answers, likewise
  size_t snapshot;   // index in the image's snapshots, or TIDE_POINT_START
  uint64_t whole;    // 0: the times are that. Without a clock they are parts of this
  const char *word;  // without a clock: "peak", "end"; otherwise NULL
};

struct tide_window { // all zero: the whole run
  struct tide_point from, to;
};

// "6.1s", "40%", "start", "peak", "end" or the name of a mark. Without a clock (TIDE_LACK_CLOCK) a
// time is refused, and so is a share of a run that nobody looked at in between.
enum tide_err tide_point_parse(const struct tide_image *image, const char *text,
                               struct tide_point *ret_point, struct tide_diag *diag);

// "A..B" with either side left out meaning start or end.
enum tide_err tide_range_parse(const struct tide_image *image, const char *text,
                               struct tide_window *ret_window, struct tide_diag *diag);

// For questions that nobody who looks at the peak can answer: the next best snapshots in its place.
// range is what the window was made of.
enum tide_err tide_window_leave_peak(const struct tide_image *image, const char *range,
                                     struct tide_window *window, struct tide_diag *diag);

// The snapshots a window's counts are summed over: [first, past). A whole run has all.
void tide_window_snapshots(const struct tide_image *image, const struct tide_window *window,
                           size_t *ret_first, size_t *ret_past);
