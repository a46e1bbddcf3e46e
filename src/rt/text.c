// SPDX-License-Identifier: Apache-2.0
//
// Strings for the recorder.
#include "rt/text.h"

size_t tide_text_len(const char *s)
{
  size_t n = 0;
  while (s[n])
    n++;
  return n;
}

bool tide_text_equal(const char *a, const char *b)
{
  while (*a && *a == *b)
    a++, b++;
  return *a == *b;
}

bool tide_text_starts(const char *s, const char *prefix)
{
  while (*prefix && *s == *prefix)
    s++, prefix++;
  return !*prefix;
}

const char *tide_text_find(const char *s, const char *needle)
{
  for (; *s; s++)
    if (*s == *needle && tide_text_starts(s, needle))
      return s;
  return NULL;
}

uint64_t tide_text_number(const char *s, bool *ok)
{
  uint64_t v = 0;
  *ok = *s >= '0' && *s <= '9';
  for (; *s >= '0' && *s <= '9'; s++)
    v = v * 10 + (uint64_t)(*s - '0');
  return v;
}

void tide_line_add_n(struct tide_line *line, const char *s, size_t n)
{
  for (size_t i = 0; i < n && line->n + 1 < line->cap; i++)
    line->text[line->n++] = s[i];
  if (line->cap)
    line->text[line->n] = 0;
}

void tide_line_add(struct tide_line *line, const char *s)
{
  tide_line_add_n(line, s, tide_text_len(s));
}

void tide_line_number(struct tide_line *line, uint64_t v)
{
  char digits[20];
  size_t n = sizeof digits;
  do
    digits[--n] = (char)('0' + v % 10);
  while (v /= 10);
  tide_line_add_n(line, digits + n, sizeof digits - n);
}
