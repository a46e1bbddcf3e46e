// SPDX-License-Identifier: Apache-2.0
//
// Markdown as GitHub reads it. Names and paths stand in code, where nothing is markup, a link or a
// mention.
#pragma once
#include "base/sink.h"

// Text as a code span that may stand in a table; nothing for "".
void tide_markdown_code(struct tide_sink *sink, const char *text);

// The longest run of backticks in a text: a fence around it needs one more.
size_t tide_markdown_fence(const char *text);
