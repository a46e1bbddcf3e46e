// SPDX-License-Identifier: Apache-2.0
//
// What is asked, in words; what two captures or two moments are compared by, and what to beware of.
#pragma once
#include "base/units.h"
#include "view/diff.h"

// ---- moments and questions ----

// A moment by itself, "6.10 s", or without a clock its share of the run, "40 %"; utf8: "µs".
const char *tide_point_time(char out[TIDE_UNITS_MAX], const struct tide_point *point,
                            uint64_t time_ns, bool utf8);

// "the start" (also of one that is not given), "6.10 s", "the peak", with the moment that answers
// for it where that is another: "6.10 s (as seen at 6.13 s)"; owned.
char *tide_point_words(const struct tide_point *point, bool utf8);

// A question of a part of the run, whose ends are given in words: "blocks live at 6.10 s", "grown
// from 1.00 s to 2.00 s", "allocated from the start to 2.00 s and never freed"; owned. It asks for
// a moment unless its window has a beginning.
char *tide_question_part_words(const struct tide_question *question, const char *from,
                               const char *to);
const char *tide_question_range_word(const struct tide_question *question); // "grown (at least)"
const char *tide_question_kept_words(const struct tide_question *question); // " and never freed"

// ---- comparisons ----

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
