// SPDX-License-Identifier: Apache-2.0
//
// The report: what a person reads after a run. Model in, text out; nothing is asked of the
// environment and nothing is printed.
#pragma once
#include "view/groups.h"
#include "view/suppressions.h"
#include "report/screen.h"

struct tide_report_options {
  enum tide_group_kind group;
  size_t n_rows;     // of the table
  int64_t min_bytes; // rows below it go into the rest; 0 with questions not in bytes
  size_t n_stacks;   // stacks to show below each row
  bool all_frames;   // and those whole
  bool details;      // sizes, lifetimes, resizes and frees below each row
  const struct tide_suppressions *suppressions; // applied; NULL: none
  const char *filters;  // the options that chose what is shown, as typed; NULL: none
  const char *prefix;   // before the first line, e.g. "tidemark: "; "" for none
  const char *saved;    // path to name as saved; NULL: nothing was saved just now
  uint64_t saved_bytes; // its size
  bool has_page;        // 'tidemark view' can be named as a next command
  const char *argument; // what the next commands need to find the capture; NULL: nothing
};

void tide_report_write(const struct tide_screen *screen, struct tide_view *view,
                       const struct tide_report_options *options);
