// SPDX-License-Identifier: Apache-2.0
//
// How far each number of an image can be believed. It follows from what the image says of itself:
// that it was sampled, that threads raced for its peak or processes were added up, that events were
// lost, that another tool's file lacks the number.
#pragma once
#include "base/amount.h"
#include "model/model.h"

// Of all of the image, in bytes where there is a bound. A row of it is not off by more.
struct tide_amount tide_image_bytes(const struct tide_image *image, enum tide_figure figure,
                                    int64_t bytes);
// The same in blocks: bounds are in bytes, so none is known.
struct tide_amount tide_image_blocks(const struct tide_image *image, enum tide_figure figure,
                                     int64_t blocks);

// The peak as it is told.
struct tide_amount tide_image_peak(const struct tide_image *image);

// What a number of RSS is off by is known only of the one at the peak.
struct tide_amount tide_image_rss_at_peak(const struct tide_image *image);

extern const char *const tide_exactness_words[]; // "exact", "within", … by enum tide_exactness
