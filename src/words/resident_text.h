// SPDX-License-Identifier: Apache-2.0
//
// What is said of the memory a program really used, and of what recording cost.
#pragma once
#include "base/units.h"
#include "profile/profile.h"

// The highest RSS is worth a line of its own when it was at another moment than the heap's peak, or
// when nobody looked then. "at 2.10 s, when the heap held 13.0 MiB"
bool tide_resident_has_high(const struct tide_image *image);
char *tide_resident_high_words(struct tide_style style, const struct tide_image *image);

// Heap that was never in memory is worth one when it was a good part of the peak.
bool tide_resident_has_untouched(const struct tide_image *image);
char *tide_resident_untouched_words(struct tide_style style, const struct tide_image *image);

// "never touched, or swapped out (5.0 MiB at most)"
char *tide_resident_untouched_why(const struct tide_image *image, struct tide_style style);

// " with the recorder", or "" where the RSS is the program's own. What a cut file has lost is not
// said: there it is "perhaps".
const char *tide_resident_whose(const struct tide_image *image);

// "overhead ≈ 1.2× and 16.1 MiB", as far as it is known; NULL: nothing is.
char *tide_overhead_words(struct tide_style style, const struct tide_profile *profile);
