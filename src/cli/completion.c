// SPDX-License-Identifier: Apache-2.0
//
// What is the same for every shell: walking the tables, quoting, and the table as text.
#include "cli/completion.h"

#include "cli/completion_parts.h"

#include <string.h>

bool tide_completion_applies(const struct tide_option_row *row, int verb)
{
  return row->verbs >> verb & 1;
}

bool tide_completion_takes_word(const struct tide_option_row *row)
{
  return row->value && row->kind != TIDE_OPTION_COUNT;
}

bool tide_completion_is_file(const struct tide_option_row *row)
{
  return row->value && (strcmp(row->value, "FILE") == 0 || strcmp(row->value, "DIR") == 0);
}

void tide_completion_text(struct tide_sink *sink, const char *text, const char *escaped)
{
  for (; *text; text++) {
    if (*text == '\'') {
      tide_sink_text(sink, "'\\''");
      continue;
    }
    if (strchr(escaped, *text))
      tide_sink_text(sink, "\\");
    tide_sink_bytes(sink, text, 1);
  }
}

void tide_completion_words(struct tide_sink *sink, const struct tide_option_row *row)
{
  for (size_t i = 0; i < row->n_words; i++)
    tide_sink_printf(sink, "%s%s", i ? " " : "", row->words[i]);
}

void tide_completion_verbs(struct tide_sink *sink)
{
  for (int verb = 0; verb < TIDE_VERBS_N; verb++)
    tide_sink_printf(sink, "%s%s", verb ? " " : "", tide_verb_rows[verb].name);
}

void tide_completion_table(struct tide_sink *sink)
{
  for (int verb = 0; verb < TIDE_VERBS_N; verb++) {
    tide_sink_printf(sink, "verb\t%s\t%s\n", tide_verb_rows[verb].name,
                     tide_verb_rows[verb].operands);
    for (size_t i = 0; i < tide_option_rows_n; i++) {
      const struct tide_option_row *row = &tide_option_rows[i];
      if (!tide_completion_applies(row, verb))
        continue;
      tide_sink_printf(sink, "option\t%s\t%c\t%s\t%s\t%s\t", tide_verb_rows[verb].name,
                       row->letter ? row->letter : '-', row->name, row->value ? row->value : "-",
                       row->kind == TIDE_OPTION_COUNT ? "optional" : "plain");
      tide_completion_words(sink, row);
      tide_sink_text(sink, "\n");
    }
  }
}
