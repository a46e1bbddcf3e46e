// SPDX-License-Identifier: Apache-2.0
//
// One cell of text, by RFC 4180 and with care for spreadsheets.
#include "report/csv.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <string.h>

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
