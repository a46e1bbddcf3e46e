// SPDX-License-Identifier: Apache-2.0
//
// Cells of CSV and of Markdown. Names come from binaries we did not build.
#pragma once
#include "base/sink.h"

// ---- CSV ----
//
// Cells of CSV. Names come from binaries we did not build: control characters and broken bytes
// become '?', quotes are doubled, and what a spreadsheet would compute is made text.

void tide_csv_text(struct tide_sink *sink, const char *text);

// ---- Markdown ----
//
// Markdown as GitHub reads it. Names and paths stand in code, where nothing is markup, a link or a
// mention.

// Text as a code span that may stand in a table; nothing for "".
void tide_markdown_code(struct tide_sink *sink, const char *text);

// The longest run of backticks in a text: a fence around it needs one more.
size_t tide_markdown_fence(const char *text);
