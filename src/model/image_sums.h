// SPDX-License-Identifier: Apache-2.0
//
// What follows from an image's sites: totals of the heap, and who held what at the peak and at the
// end. Pages a program mapped itself are no part of the heap's totals, but of the snapshots.
#pragma once
#include "model/model.h"

struct tide_image_sums {
  uint64_t n_alloc, b_alloc, n_free, b_free;
  int64_t live_blocks, live_bytes;
  uint64_t n_resize;
  int64_t resized_bytes; // new sizes - old sizes; has a meaning if the image has_resized_bytes
};
void tide_image_heap_sums(const struct tide_image *image, struct tide_image_sums *ret_sums);

// Recordings of several threads once told a peak that the shares of the stacks added up to only
// within its bound. Makes it what they add up to, and the bound wider by as much. Of a file that
// was cut, and of other tools' files, the peak stays what it is.
void tide_image_settle_peak(struct tide_image *image);

// The root flag of every stack: TIDE_FRAME_PAGES, TIDE_FRAME_LOST or 0; one entry per frame, owned
// by the caller.
uint16_t *tide_image_root_flags(const struct tide_image *image);

// Puts the snapshots at peak_ns and end_ns, made from the sites, among the others by time; not
// of what the image lacks. That of the end counts what no other has counted.
void tide_image_add_exact_snapshots(struct tide_image *image);
