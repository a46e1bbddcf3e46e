// SPDX-License-Identifier: Apache-2.0
//
// For bash 4 and later, with or without the bash-completion package. Bash splits words at '=', so
// "--sort=pe" arrives as three.
#include "cli/completion.h"

#include "cli/completion_parts.h"

static const char head[] =
    "# bash completion for tidemark, made from its option table\n"
    "\n"
    "_tidemark_words() {\n"
    "  COMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
    "}\n"
    "\n"
    "_tidemark_files() {\n"
    "  compopt -o filenames 2>/dev/null\n"
    "  mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "}\n"
    "\n"
    "_tidemark_captures() {\n"
    "  compopt -o filenames 2>/dev/null\n"
    "  mapfile -t COMPREPLY < <(\n"
    "    compgen -f -X '!*.tide' -- \"$cur\"\n"
    "    compgen -f -X '!*.store' -- \"$cur\"\n"
    "    compgen -d -- \"$cur\"\n"
    "  )\n"
    "}\n"
    "\n"
    "# A command to run at word $1, or its arguments, which are its own affair.\n"
    "_tidemark_command() {\n"
    "  if (($1 == COMP_CWORD)); then\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -c -- \"$cur\" | sort -u)\n"
    "  elif declare -F _command_offset >/dev/null; then\n"
    "    _command_offset \"$1\"\n"
    "  else\n"
    "    _tidemark_files\n"
    "  fi\n"
    "}\n"
    "\n"
    "_tidemark_value() {\n"
    "  case $1:$2 in\n";

static const char middle[] =
    "  *) return 1 ;;\n"
    "  esac\n"
    "}\n"
    "\n"
    "_tidemark() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "  local verb=${COMP_WORDS[1]} at=2\n"
    "  COMPREPLY=()\n"
    "  if ((COMP_CWORD == 1)); then\n"
    "    _tidemark_words \"$_tidemark_verbs --help --version\"\n"
    "    return\n"
    "  fi\n";

// After the words before it: where the command of `run` begins.
static const char find_command[] = "    while ((at < COMP_CWORD)); do\n"
                                   "      case ${COMP_WORDS[at]} in\n"
                                   "      --) ((at++)); _tidemark_command \"$at\"; return ;;\n";
static const char command_found[] = "        [[ ${COMP_WORDS[at + 1]} == = ]] && ((at++))\n"
                                    "        ((at += 2)) ;;\n"
                                    "      -*) ((at++)) ;;\n"
                                    "      *) _tidemark_command \"$at\"; return ;;\n"
                                    "      esac\n"
                                    "    done\n";

static const char value[] = "  if [[ $cur == = ]]; then\n"
                            "    cur=\n"
                            "  elif [[ $prev == = ]]; then\n"
                            "    prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
                            "  fi\n"
                            "  _tidemark_value \"$verb\" \"$prev\" && return\n"
                            "  case $verb in\n";

static const char foot[] = "  esac\n"
                           "}\n"
                           "\n"
                           "complete -F _tidemark tidemark\n";

static void write_name(struct tide_sink *sink, const char *before,
                       const struct tide_option_row *row, const char *between)
{
  if (row->letter)
    tide_sink_printf(sink, "%s-%c%s", before, row->letter, between);
  tide_sink_printf(sink, "%s--%s", before, row->name);
}

static void write_values(struct tide_sink *sink, int verb)
{
  for (size_t i = 0; i < tide_option_rows_n; i++) {
    const struct tide_option_row *row = &tide_option_rows[i];
    if (!tide_completion_applies(row, verb) || !tide_completion_takes_word(row))
      continue;
    tide_sink_text(sink, "  ");
    if (row->letter)
      tide_sink_printf(sink, "%s:-%c | ", tide_verb_rows[verb].name, row->letter);
    tide_sink_printf(sink, "%s:--%s) ", tide_verb_rows[verb].name, row->name);
    if (row->n_words) {
      tide_sink_text(sink, "_tidemark_words \"");
      tide_completion_words(sink, row);
      tide_sink_text(sink, "\" ;;\n");
    } else {
      tide_sink_printf(sink, "%s ;;\n", tide_completion_is_file(row) ? "_tidemark_files" : ":");
    }
  }
}

static void write_command_search(struct tide_sink *sink, int verb)
{
  const char *between = "";
  tide_sink_printf(sink, "  if [[ $verb == %s ]]; then\n%s      ", tide_verb_rows[verb].name,
                   find_command);
  for (size_t i = 0; i < tide_option_rows_n; i++) {
    const struct tide_option_row *row = &tide_option_rows[i];
    if (!tide_completion_applies(row, verb) || !tide_completion_takes_word(row))
      continue;
    tide_sink_text(sink, between);
    write_name(sink, "", row, " | ");
    between = " | ";
  }
  tide_sink_printf(sink, ")\n%s  fi\n", command_found);
}

static void write_verb(struct tide_sink *sink, int verb)
{
  static const char *const operands[] = {
      [TIDE_OPERAND_NONE] = ":",
      [TIDE_OPERAND_COMMAND] = "_tidemark_command \"$COMP_CWORD\"",
      [TIDE_OPERAND_CAPTURE] = "_tidemark_captures",
      [TIDE_OPERAND_VERB] = "_tidemark_words \"$_tidemark_verbs\"",
  };
  tide_sink_printf(sink, "  %s)\n    if [[ $cur == -* ]]; then\n      _tidemark_words \"",
                   tide_verb_rows[verb].name);
  const char *before = "";
  for (size_t i = 0; i < tide_option_rows_n; i++) {
    if (!tide_completion_applies(&tide_option_rows[i], verb))
      continue;
    tide_sink_text(sink, before);
    write_name(sink, "", &tide_option_rows[i], " ");
    before = " ";
  }
  tide_sink_printf(sink, "\"\n    else\n      %s\n    fi ;;\n",
                   operands[tide_verb_rows[verb].operand]);
}

void tide_completion_bash(struct tide_sink *sink)
{
  tide_sink_text(sink, head);
  for (int verb = 0; verb < TIDE_VERBS_N; verb++)
    write_values(sink, verb);
  tide_sink_text(sink, middle);
  for (int verb = 0; verb < TIDE_VERBS_N; verb++)
    if (tide_verb_rows[verb].operand == TIDE_OPERAND_COMMAND)
      write_command_search(sink, verb);
  tide_sink_text(sink, value);
  for (int verb = 0; verb < TIDE_VERBS_N; verb++)
    write_verb(sink, verb);
  tide_sink_text(sink, foot);
  tide_sink_text(sink, "_tidemark_verbs='");
  tide_completion_verbs(sink);
  tide_sink_text(sink, "'\n");
}
