// SPDX-License-Identifier: Apache-2.0
//
// A timeline in one line of text.
#pragma once
#include "capture/model.h"

// Live bytes of an image from its start to its end, in width columns of block characters (or ASCII
// ones): each column shows the largest value within its share of time, so the peak is always there.
// Owned by the caller; NULL when the timeline has too few points to say anything.
char *tide_spark_live(const struct tide_image *image, size_t width, bool utf8);
