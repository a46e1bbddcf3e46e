// SPDX-License-Identifier: Apache-2.0
//
// For fish 3: one `complete` line per verb and option.
#include "cli/completion.h"

#include "cli/completion_parts.h"

static const char head[] =
    "# fish completion for tidemark, made from its option table\n"
    "\n"
    "function __tidemark_verb --description 'Whether the verb is one of those given'\n"
    "  set -l words (commandline -opc)\n"
    "  test (count $words) -ge 2; and contains -- $words[2] $argv\n"
    "end\n"
    "\n"
    "function __tidemark_no_verb\n"
    "  test (count (commandline -opc)) -eq 1\n"
    "end\n"
    "\n"
    "complete -c tidemark -f\n"
    "complete -c tidemark -n __tidemark_no_verb -l help -d 'list the verbs'\n"
    "complete -c tidemark -n __tidemark_no_verb -l version -d 'print the version'\n";

static void write_option(struct tide_sink *sink, int verb, const struct tide_option_row *row)
{
  tide_sink_printf(sink, "complete -c tidemark -n '__tidemark_verb %s'", tide_verb_rows[verb].name);
  if (row->letter)
    tide_sink_printf(sink, " -s %c", row->letter);
  tide_sink_printf(sink, " -l %s", row->name);
  if (row->n_words) {
    tide_sink_text(sink, " -x -a '");
    tide_completion_words(sink, row);
    tide_sink_text(sink, "'");
  } else if (tide_completion_takes_word(row)) {
    tide_sink_text(sink, tide_completion_is_file(row) ? " -r -F" : " -x");
  }
  tide_sink_text(sink, " -d '");
  tide_completion_text(sink, row->help, "");
  tide_sink_text(sink, "'\n");
}

// The options whose value is not the command yet.
static void write_command(struct tide_sink *sink, int verb)
{
  tide_sink_text(sink, "(__fish_complete_subcommand --fcs-skip=2 --");
  for (size_t i = 0; i < tide_option_rows_n; i++) {
    const struct tide_option_row *row = &tide_option_rows[i];
    if (!tide_completion_applies(row, verb) || !tide_completion_takes_word(row))
      continue;
    if (row->letter)
      tide_sink_printf(sink, " -%c", row->letter);
    tide_sink_printf(sink, " --%s", row->name);
  }
  tide_sink_text(sink, ")");
}

static void write_operand(struct tide_sink *sink, int verb)
{
  enum tide_operand operand = tide_verb_rows[verb].operand;
  if (operand == TIDE_OPERAND_NONE)
    return;
  tide_sink_printf(sink, "complete -c tidemark -n '__tidemark_verb %s' %s-a '",
                   tide_verb_rows[verb].name, operand == TIDE_OPERAND_CAPTURE ? "-k " : "-x ");
  if (operand == TIDE_OPERAND_COMMAND)
    write_command(sink, verb);
  else if (operand == TIDE_OPERAND_CAPTURE)
    tide_sink_text(sink, "(__fish_complete_suffix .tide; __fish_complete_suffix .store)");
  else
    tide_completion_verbs(sink);
  tide_sink_text(sink, "'\n");
}

void tide_completion_fish(struct tide_sink *sink)
{
  tide_sink_text(sink, head);
  for (int verb = 0; verb < TIDE_VERBS_N; verb++) {
    tide_sink_printf(sink, "complete -c tidemark -n __tidemark_no_verb -a %s -d '",
                     tide_verb_rows[verb].name);
    tide_completion_text(sink, tide_verb_rows[verb].summary, "");
    tide_sink_text(sink, "'\n");
  }
  for (int verb = 0; verb < TIDE_VERBS_N; verb++) {
    write_operand(sink, verb);
    for (size_t i = 0; i < tide_option_rows_n; i++)
      if (tide_completion_applies(&tide_option_rows[i], verb))
        write_option(sink, verb, &tide_option_rows[i]);
  }
}
