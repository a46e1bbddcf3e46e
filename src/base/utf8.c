// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 by hand: the C library's wide functions depend on the locale of the moment, and what we
// print must not.
#include "base/utf8.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

size_t tide_utf8_length(const char *text, size_t n)
{
  const uint8_t *p = (const uint8_t *)text;
  if (p[0] < 0x80)
    return 1;
  size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  if (p[0] < 0xc2 || p[0] > 0xf4 || length > n)
    return 0;
  for (size_t i = 1; i < length; i++)
    if ((p[i] & 0xc0) != 0x80)
      return 0;
  bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
  bool surrogate = p[0] == 0xed && p[1] >= 0xa0;
  bool too_big = p[0] == 0xf4 && p[1] >= 0x90;
  return overlong || surrogate || too_big ? 0 : length;
}

static bool is_whole(const char *text, size_t n)
{
  for (size_t i = 0, length; i < n; i += length)
    if (!(length = tide_utf8_length(text + i, n - i)))
      return false;
  return true;
}

const char *tide_utf8_mend(const char *text, struct tide_buf *scratch)
{
  size_t n = strlen(text);
  if (is_whole(text, n))
    return text;
  tide_buf_clear(scratch);
  for (size_t i = 0; i < n;) {
    size_t length = tide_utf8_length(text + i, n - i);
    if (length)
      tide_buf_append(scratch, text + i, length);
    else
      tide_buf_text(scratch, "\xef\xbf\xbd");
    i += length ? length : 1;
  }
  return tide_buf_cstr(scratch);
}

static uint32_t code_point(const char *text, size_t length)
{
  static const uint8_t first_mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t c = (uint8_t)text[0] & first_mask[length];
  for (size_t i = 1; i < length; i++)
    c = c << 6 | ((uint8_t)text[i] & 0x3f);
  return c;
}

// Coarse on purpose: the blocks that matter in names and paths, not the whole Unicode table.
static unsigned columns(uint32_t c)
{
  if ((c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) || (c >= 0xfe00 && c <= 0xfe0f))
    return 0;
  bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
              (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
              (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
              (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
  return wide ? 2 : 1;
}

// C1 controls and the direction overrides can rewrite what a reader believes to see.
static bool is_control(uint32_t c)
{
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

size_t tide_utf8_width(const char *text)
{
  size_t width = 0, n = strlen(text);
  for (size_t i = 0; i < n;) {
    size_t length = tide_utf8_length(text + i, n - i);
    width += length ? columns(code_point(text + i, length)) : 1;
    i += length ? length : 1;
  }
  return width;
}

char *tide_utf8_clean(const char *text, bool utf8)
{
  size_t n = strlen(text);
  char *clean = tide_alloc(n + 1);
  size_t out = 0;
  for (size_t i = 0; i < n;) {
    size_t length = tide_utf8_length(text + i, n - i);
    if (!length || is_control(code_point(text + i, length)) || (length > 1 && !utf8)) {
      clean[out++] = '?';
    } else {
      memcpy(clean + out, text + i, length);
      out += length;
    }
    i += length ? length : 1;
  }
  return clean;
}

// Bytes of the longest prefix of clean text within width columns.
static size_t prefix_bytes(const char *text, size_t n, size_t width)
{
  size_t i = 0;
  for (size_t used = 0; i < n;) {
    size_t length = tide_utf8_length(text + i, n - i);
    used += columns(code_point(text + i, length));
    if (used > width)
      break;
    i += length;
  }
  return i;
}

// Where the longest suffix of clean text within width columns starts.
static size_t suffix_start(const char *text, size_t n, size_t width)
{
  size_t i = n, used = 0;
  while (i > 0) {
    size_t start = i - 1;
    while (start > 0 && ((uint8_t)text[start] & 0xc0) == 0x80)
      start--;
    used += columns(code_point(text + start, i - start));
    if (used > width)
      break;
    i = start;
  }
  return i;
}

char *tide_utf8_fit(const char *text, size_t width, bool utf8)
{
  char *clean = tide_utf8_clean(text, utf8);
  if (tide_utf8_width(clean) <= width)
    return clean;
  const char *ellipsis = utf8 ? "\xe2\x80\xa6" : "...";
  size_t gap = utf8 ? 1 : 3, n = strlen(clean);
  struct tide_buf fitted = {0};
  if (width <= gap) {
    tide_buf_append(&fitted, clean, prefix_bytes(clean, n, width));
  } else {
    size_t head = (width - gap) / 3, tail = width - gap - head;
    size_t from = suffix_start(clean, n, tail);
    tide_buf_append(&fitted, clean, prefix_bytes(clean, from, head));
    tide_buf_text(&fitted, ellipsis);
    tide_buf_append(&fitted, clean + from, n - from);
  }
  free(clean);
  tide_buf_u8(&fitted, 0);
  return (char *)fitted.data;
}
