// SPDX-License-Identifier: Apache-2.0
//
// Help pages, made from the tables.
#include "cli/arguments.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <stdlib.h>

static void write_padded(struct tide_sink *sink, const char *text, size_t columns)
{
  size_t width = tide_utf8_width(text);
  tide_sink_text(sink, text);
  tide_sink_repeat(sink, ' ', width < columns ? columns - width : 1);
}

void tide_help_overview(struct tide_sink *sink)
{
  tide_sink_text(sink, "tidemark " TIDE_VERSION ": who holds the memory of a program, exactly\n\n"
                       "usage: tidemark VERB [OPTION...] ...\n\n");
  for (int i = 0; i < TIDE_VERBS_N; i++) {
    tide_sink_text(sink, "  ");
    write_padded(sink, tide_verb_rows[i].name, 10);
    tide_sink_printf(sink, "%s\n", tide_verb_rows[i].summary);
  }
  tide_sink_text(sink, "\n'tidemark help VERB' explains one. To begin:\n\n"
                       "  tidemark run ./program its arguments\n");
}

static void write_option(struct tide_sink *sink, const struct tide_option_row *row)
{
  bool optional = tide_option_is_optional(row);
  TIDE_CLEANUP_FREE char *left =
      tide_sprintf("  %c%c%s --%s%s%s%s", row->letter ? '-' : ' ', row->letter ? row->letter : ' ',
                   row->letter ? "," : " ", row->name,
                   optional     ? "[="
                   : row->value ? " "
                                : "",
                   row->value ? row->value : "", optional ? "]" : "");
  write_padded(sink, left, 24);
  tide_sink_printf(sink, "%s\n", row->help);
}

void tide_help_verb(struct tide_sink *sink, enum tide_verb verb)
{
  const struct tide_verb_row *row = &tide_verb_rows[verb];
  tide_sink_printf(sink, "tidemark %s: %s\n\n", row->name, row->summary);
  tide_sink_printf(sink, "usage: tidemark %s [OPTION...]%s%s\n\n", row->name,
                   *row->operands ? " " : "", row->operands);
  if (*row->more)
    tide_sink_printf(sink, "%s\n", row->more);
  for (size_t i = 0; i < tide_option_rows_n; i++)
    if (tide_option_rows[i].verbs >> verb & 1)
      write_option(sink, &tide_option_rows[i]);
}
