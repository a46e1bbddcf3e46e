// SPDX-License-Identifier: Apache-2.0
//
// A diff for people and for programs: text, Markdown, CSV, and JSON of schema "tidemark-diff-1".
#pragma once
#include "report/screen.h"
#include "view/diff.h"

struct tide_diff_options {
  size_t n_places;    // rows of the table
  int64_t min_change; // smaller changes go into the rest; 0 with questions not in bytes
  bool all;           // every place, the unchanged ones too, whatever the two above say
  const char *before_file, *after_file; // as the user named them
};

void tide_diff_text_write(const struct tide_screen *screen, const struct tide_diff *diff,
                          const struct tide_diff_options *options);

// The text table's columns and, as the last row, the total. Of the screen only units and sink are
// used.
void tide_diff_md_write(const struct tide_screen *screen, const struct tide_diff *diff,
                        const struct tide_diff_options *options);

// One line per place, then what is left out as "(rest)" and what threads leave open as "(open)":
// columns add up to the totals.
void tide_diff_csv_write(struct tide_sink *sink, const struct tide_diff *diff,
                         const struct tide_diff_options *options);

void tide_diff_json_write(struct tide_sink *sink, const struct tide_diff *diff,
                          const struct tide_diff_options *options);
