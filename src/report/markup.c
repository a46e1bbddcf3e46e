// SPDX-License-Identifier: Apache-2.0
//
// What a spreadsheet or a renderer would take for more than text is made text.
#include "report/markup.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <string.h>

// ---- CSV ----
//
// One cell of text, by RFC 4180 and with care for spreadsheets.

void tide_csv_text(struct tide_sink *sink, const char *text)
{
  TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(text, true);
  bool formula = *clean && strchr("=+-@", *clean);
  bool quoted = formula || strpbrk(clean, "\",\n\r") || *clean == ' ' || *clean == '\'';
  if (!quoted) {
    tide_sink_text(sink, clean);
    return;
  }
  tide_sink_text(sink, formula ? "\"'" : "\"");
  for (const char *c = clean; *c; c++)
    tide_sink_bytes(sink, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
  tide_sink_text(sink, "\"");
}

// ---- Markdown ----
//
// Code spans. A span's fence is longer than any run of backticks inside it; a bar would end a
// table's cell even there and is escaped.

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
