// SPDX-License-Identifier: Apache-2.0
//
// Text without libc: strings compared and copied, numbers written, messages put together in a
// buffer of the caller's. Nothing here allocates.
#pragma once
#include "rt/base.h"

size_t tide_text_len(const char *s);
bool tide_text_equal(const char *a, const char *b);
bool tide_text_starts(const char *s, const char *prefix);
// Position of needle in s, or NULL.
const char *tide_text_find(const char *s, const char *needle);
// A decimal number at s up to its first other character; *ok false when there is no digit.
uint64_t tide_text_number(const char *s, bool *ok);

// A message being put together; what does not fit is cut, the text stays terminated.
struct tide_line {
  char *text;
  size_t n, cap;
};
#define TIDE_LINE(buffer) ((struct tide_line){(buffer), 0, sizeof(buffer)})
void tide_line_add(struct tide_line *line, const char *s);
void tide_line_add_n(struct tide_line *line, const char *s, size_t n);
void tide_line_number(struct tide_line *line, uint64_t v);
