// SPDX-License-Identifier: Apache-2.0
//
// What follows from an image's sites: totals of the heap, and who held what at the peak and at the
// end. Pages a program mapped itself are no part of the heap's totals, but of the snapshots.
#pragma once
#include "model/model.h"

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

// Adds what `counts` (by rising stack) says was allocated to the rows of a snapshot; what it says
// of live blocks is ignored. The snapshot owns its rows; `counts` stays the caller's.
void tide_snapshot_add_counts(struct tide_snapshot *snapshot,
                              const struct tide_snapshot_row *counts, size_t n_counts);

// False: the capture is of a format that did not have it. What its images lack is another matter.
bool tide_number_is_kept(const struct tide_number *number, const struct tide_image *image);
