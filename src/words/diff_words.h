// SPDX-License-Identifier: Apache-2.0
//
// What two captures or two moments are compared by, and what to beware of.
#pragma once
#include "base/units.h"
#include "view/diff.h"

// Its gaps, which the page fills itself, are "place", "1.2 MiB", "held at the peak", "12 places".
#define TIDE_DIFF_UNCHANGED "no %s changed: %s %s on both sides, in %s"

// "held at the peak", "allocations": what is compared.
const char *tide_diff_measure_words(const struct tide_question *question);

// What a row is: "place", "file", "crate", "module".
const char *tide_diff_row_word(const struct tide_diff *diff);

// What to beware of in a comparison of two images: that they are of two programs or were called in
// another way, and how far their peaks can be off together. Returns how many there are, each owned.
enum { TIDE_DIFF_PAIR_NOTES_MAX = 2 };
size_t tide_diff_pair_notes(const struct tide_image *before, const struct tide_image *after,
                            struct tide_style style, char *ret_notes[TIDE_DIFF_PAIR_NOTES_MAX]);

// Why a side is not all of its run: "its recording was not ended properly"; owned, NULL: it is.
char *tide_diff_side_note(const struct tide_profile *profile, struct tide_style style);
