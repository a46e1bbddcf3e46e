// SPDX-License-Identifier: Apache-2.0
//
// A timeline in one line of text.
#pragma once
#include "model/model.h"
#include "report/screen.h"

// Live bytes of an image from its start to its end, in width columns of block characters (or ASCII
// ones): each column shows the largest value within its share of time, so the peak is always there.
// Owned by the caller; NULL when the timeline has too few points to say anything.
char *tide_spark_live(const struct tide_image *image, size_t width, bool utf8);

// Bars of width columns on a scale of their own; blanks for nothing. Owned by the caller.
char *tide_spark_bars(const int64_t *values, size_t width, bool utf8);

// A curve of live bytes and the part of it that was never freed, both in width columns, on a scale
// of its own. Columns of which the larger part was never freed are drawn in dots (in digits without
// UTF-8) and in another ink; where nothing was live there is nothing.
void tide_spark_kept(const struct tide_screen *screen, const int64_t *live, const int64_t *kept,
                     size_t width);
const char *tide_spark_kept_mark(const struct tide_screen *screen); // what never freed looks like
