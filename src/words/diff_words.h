// SPDX-License-Identifier: Apache-2.0
//
// What two captures or two moments are compared by, and what to beware of. The command has both
// sides when it says it, the page puts them together itself: it is given what has gaps as it is.
#pragma once
#include "base/units.h"
#include "view/diff.h"

// The gaps are the two programs; "± 2.8 MiB"; "place", "1.2 MiB", "held at the peak", "12 places".
#define TIDE_DIFF_TWO_PROGRAMS                                                                     \
  "these are two programs, %s and %s: only places of the same function and file are compared"
#define TIDE_DIFF_OTHER_COMMAND "the command lines differ"
#define TIDE_DIFF_PEAKS_WITHIN "the peaks are exact to %s together"
#define TIDE_DIFF_UNCHANGED "no %s changed: %s %s on both sides, in %s"

// Places without a name.
#define TIDE_DIFF_NO_NAMES "(code without names)"
#define TIDE_DIFF_NO_FRAME "(no frame)"

// "held at the peak", "allocations": what is compared.
const char *tide_diff_measure_words(const struct tide_question *question);

// What a row is: "place", "file", "crate", "module".
const char *tide_diff_row_word(const struct tide_diff *diff);

// Why a side is not all of its run: "its recording was not ended properly"; owned, NULL: it is.
char *tide_diff_side_note(const struct tide_profile *profile, struct tide_style style);
