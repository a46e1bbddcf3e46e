// SPDX-License-Identifier: Apache-2.0
//
// The report's table for other programs: CSV for spreadsheets and scripts, Markdown for issues and
// reviews. The same places as the text report has, under the same options.
#pragma once
#include "view/view.h"
#include "report/report.h"

// All measures of each place as numbers, names in full. Quoted as RFC 4180 has it; lines end in LF.
// Text that a spreadsheet would take for a formula is led by an apostrophe.
void tide_report_csv_write(struct tide_sink *sink, struct tide_view *view,
                           const struct tide_report_options *options);

// The text table's columns. Of the screen only units and sink are used; nothing is shortened.
void tide_report_md_write(const struct tide_screen *screen, struct tide_view *view,
                          const struct tide_report_options *options);
