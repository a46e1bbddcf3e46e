// SPDX-License-Identifier: Apache-2.0
//
// For zsh's completion system: a file _tidemark in a directory of fpath.
#include "cli/completion.h"

#include "cli/completion_parts.h"

static const char head[] = "#compdef tidemark\n"
                           "# zsh completion for tidemark, made from its option table\n"
                           "\n"
                           "_tidemark() {\n"
                           "  local -a verbs\n"
                           "  verbs=(\n";

static const char middle[] = "  )\n"
                             "  if ((CURRENT == 2)); then\n"
                             "    if [[ $words[2] == -* ]]; then\n"
                             "      compadd -- --help --version\n"
                             "    else\n"
                             "      _describe -t verbs verb verbs\n"
                             "    fi\n"
                             "    return\n"
                             "  fi\n"
                             "  shift words\n"
                             "  ((CURRENT--))\n"
                             "  case $words[1] in\n";

static const char foot[] = "  esac\n"
                           "}\n"
                           "\n"
                           "_tidemark \"$@\"\n";

// '(-s --sort)'{-s+,--sort=}'[rank by …]:WHAT:(peak live)'
static void write_option(struct tide_sink *sink, const struct tide_option_row *row)
{
  const char *letter_tail = row->value ? "+" : "", *name_tail = row->value ? "=" : "";
  if (row->kind == TIDE_OPTION_COUNT)
    name_tail = "=-"; // the value in the same word or none
  if (row->letter)
    tide_sink_printf(sink, "      '(-%c --%s)'{-%c%s,--%s%s}'[", row->letter, row->name,
                     row->letter, letter_tail, row->name, name_tail);
  else
    tide_sink_printf(sink, "      '--%s%s[", row->name, name_tail);
  tide_completion_text(sink, row->help, "[]\\");
  tide_sink_text(sink, "]");
  if (row->value) {
    tide_sink_printf(sink, "%s%s:", row->kind == TIDE_OPTION_COUNT ? "::" : ":", row->value);
    if (row->n_words) {
      tide_sink_text(sink, "(");
      tide_completion_words(sink, row);
      tide_sink_text(sink, ")");
    } else {
      tide_sink_text(sink, tide_completion_is_file(row) ? "_files" : " ");
    }
  }
  tide_sink_text(sink, "' \\\n");
}

static void write_verb(struct tide_sink *sink, int verb)
{
  static const char *const operands[] = {
      [TIDE_OPERAND_NONE] = "'*: :'",
      [TIDE_OPERAND_COMMAND] = "'(-)1:command: _command_names -e' '*::arguments: _normal'",
      [TIDE_OPERAND_CAPTURE] = "'1:capture:_files -g \"*.(tide|store)(-.)\"'",
      [TIDE_OPERAND_VERB] = "'1:verb:{_describe -t verbs verb verbs}'",
  };
  tide_sink_printf(sink, "  %s)\n    _arguments -s -S : \\\n", tide_verb_rows[verb].name);
  for (size_t i = 0; i < tide_option_rows_n; i++)
    if (tide_completion_applies(&tide_option_rows[i], verb))
      write_option(sink, &tide_option_rows[i]);
  tide_sink_printf(sink, "      %s\n    ;;\n", operands[tide_verb_rows[verb].operand]);
}

void tide_completion_zsh(struct tide_sink *sink)
{
  tide_sink_text(sink, head);
  for (int verb = 0; verb < TIDE_VERBS_N; verb++) {
    tide_sink_printf(sink, "    '%s:", tide_verb_rows[verb].name);
    tide_completion_text(sink, tide_verb_rows[verb].summary, ":\\");
    tide_sink_text(sink, "'\n");
  }
  tide_sink_text(sink, middle);
  for (int verb = 0; verb < TIDE_VERBS_N; verb++)
    write_verb(sink, verb);
  tide_sink_text(sink, foot);
}
