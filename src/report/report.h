// SPDX-License-Identifier: Apache-2.0
//
// The report: what a person reads after a run. Model in, text out; nothing is asked of the
// environment and nothing is printed.
#pragma once
#include "base/sink.h"
#include "findings/finding.h"
#include "report/screen.h"
#include "view/groups.h"
#include "view/suppressions.h"
#include "view/view.h"

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
  const struct tide_findings *findings; // of the whole run; NULL: not asked for
  const char *argument; // what the next commands need to find the capture; NULL: nothing
};

void tide_report_write(const struct tide_screen *screen, struct tide_view *view,
                       const struct tide_report_options *options);

// ---- for other programs ----
//
// The report's table for other programs: CSV for spreadsheets and scripts, Markdown for issues and
// reviews. The same places as the text report has, under the same options.

// All measures of each place as numbers, names in full. Quoted as RFC 4180 has it; lines end in LF.
// Text that a spreadsheet would take for a formula is led by an apostrophe.
void tide_report_csv_write(struct tide_sink *sink, struct tide_view *view,
                           const struct tide_report_options *options);

// The text table's columns. Of the screen only units and sink are used; nothing is shortened.
void tide_report_md_write(const struct tide_screen *screen, struct tide_view *view,
                          const struct tide_report_options *options);

// ---- JSON ----
//
// The report for machines: schema "tidemark-report-2". Keys are only ever added within a schema.
// Byte and event numbers are exact integers; stacks are complete, and written once each.

struct tide_report_json_options {
  const struct tide_suppressions *suppressions; // applied; NULL: none
  const char *file;                             // the capture's name, or NULL
  size_t n;                                     // sites, and groups; 0: all
  bool weightless;                              // sites that weigh nothing, too
  const enum tide_group_kind *group;            // NULL: no groups
  const struct tide_findings *findings;         // of the whole run; NULL: not asked for
};

void tide_report_json_write(struct tide_sink *sink, struct tide_view *view,
                            const struct tide_report_json_options *options);
