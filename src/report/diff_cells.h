// SPDX-License-Identifier: Apache-2.0
//
// What stands in a cell of a diff's table, whatever the table is drawn with. Results are owned by
// the caller.
#pragma once
#include "report/diff.h"
#include "words/question_words.h"

// How many of the places are shown; the others are the rest.
size_t tide_diff_rows(const struct tide_diff *diff, const struct tide_diff_options *options);

// "▲ 17.7 MiB" or "+17.7 MiB" without UTF-8; nothing changed: "0 B", "0".
char *tide_diff_cell_change(const struct tide_screen *screen, enum tide_unit unit,
                            struct tide_amount change);
// Always with + and -, for text that is not looked at on a screen.
char *tide_diff_cell_signed(const struct tide_screen *screen, enum tide_unit unit,
                            struct tide_amount change);

// "23.5 MiB", "16,204"; below zero with a sign.
char *tide_diff_cell_amount(const struct tide_screen *screen, enum tide_unit unit,
                            struct tide_amount amount);

// What a side has at a place. Where it has nothing there is a dash, which is seen sooner than "0
// B".
char *tide_diff_cell_side(const struct tide_screen *screen, const struct tide_view *side,
                          enum tide_unit unit, int64_t value);

// Numbers of the two sides and of the change between them, with how exact they are.
struct tide_amount tide_diff_side_amount(const struct tide_view *side, enum tide_unit unit,
                                         int64_t value);
struct tide_amount tide_diff_change_amount(const struct tide_diff *diff, enum tide_unit unit,
                                           int64_t change);

// The function of a place within width columns, and where it is; as tide_cell_name() and
// tide_cell_location().
char *tide_diff_cell_name(const struct tide_screen *screen, const struct tide_diff *diff,
                          const struct tide_diff_place *place, size_t width);
char *tide_diff_cell_location(const struct tide_diff *diff, const struct tide_diff_place *place);

// "in 4 more places", "in 4 more, 6 unchanged": what the rows past the first n_shown are.
char *tide_diff_cell_rest(const struct tide_screen *screen, const struct tide_diff *diff,
                          size_t n_shown, int64_t min_change);

// Whether there is anything in the row of what threads leave open.
bool tide_diff_has_open(const struct tide_diff *diff);
// "between threads, at the peak", or what a cut file has lost.
const char *tide_diff_open_words(const struct tide_diff *diff);

// ---- the table ----

// With its heading; or one line when nothing changed.
void tide_diff_table_write(const struct tide_screen *screen, const struct tide_diff *diff,
                           const struct tide_diff_options *options);

// The ink of a change.
enum tide_ink tide_diff_ink(int64_t change);
