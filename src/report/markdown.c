// SPDX-License-Identifier: Apache-2.0
//
// Code spans. A span's fence is longer than any run of backticks inside it; a bar would end a
// table's cell even there and is escaped.
#include "report/markdown.h"

#include "base/alloc.h"
#include "base/utf8.h"

size_t tide_markdown_fence(const char *text)
{
  size_t longest = 0;
  for (size_t run = 0; *text; text++) {
    run = *text == '`' ? run + 1 : 0;
    longest = run > longest ? run : longest;
  }
  return longest;
}

void tide_markdown_code(struct tide_sink *sink, const char *text)
{
  TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(text, true);
  size_t fence = tide_markdown_fence(clean) + 1;
  if (!*clean)
    return;
  tide_sink_repeat(sink, '`', fence);
  if (fence > 1) // one blank inside a fence is not part of the text
    tide_sink_text(sink, " ");
  for (const char *c = clean; *c; c++) {
    if (*c == '|')
      tide_sink_text(sink, "\\|");
    else // a backslash before a bar would undo the bar's own
      tide_sink_bytes(sink, *c == '\\' ? "/" : c, 1);
  }
  if (fence > 1)
    tide_sink_text(sink, " ");
  tide_sink_repeat(sink, '`', fence);
}
