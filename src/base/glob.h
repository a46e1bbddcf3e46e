// SPDX-License-Identifier: Apache-2.0
//
// Patterns in which * stands for any text.
#pragma once
#include <stdbool.h>

// Whether the pattern, up to its NUL, matches the text from text to end as a whole.
bool tide_glob_matches(const char *pattern, const char *text, const char *end);
