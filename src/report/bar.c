// SPDX-License-Identifier: Apache-2.0
//
// Eighth blocks from the left.
#include "report/bar.h"

#include "base/alloc.h"
#include "base/buf.h"

char *tide_bar(int64_t part, int64_t whole, size_t width, bool utf8)
{
  static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
  struct tide_buf out = {0};
  double share = part > 0 && whole > 0 ? (double)part / (double)whole : 0;
  size_t steps = utf8 ? 8 : 1;
  size_t filled = (size_t)((share < 1 ? share : 1) * (double)(width * steps) + 0.5);
  if (part > 0 && whole > 0 && filled == 0 && utf8)
    filled = 1;
  for (; filled >= steps; filled -= steps)
    tide_buf_text(&out, utf8 ? eighths[8] : "#");
  if (filled)
    tide_buf_text(&out, eighths[filled]);
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}
