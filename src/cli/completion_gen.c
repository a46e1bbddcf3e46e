// SPDX-License-Identifier: Apache-2.0
//
// Completion for shells, made from the option table at build time; nothing of it is in the command.
// Writes to standard output: completion_gen bash|zsh|fish|table.
#include "cli/arguments.h"

#include "base/sink.h"

#include <string.h>

// ---- the same for every shell ----

static bool is_offered(const struct tide_option_row *row, int verb)
{
  return row->verbs >> verb & 1;
}

static bool takes_word(const struct tide_option_row *row)
{
  return row->value && !tide_option_is_optional(row);
}

static bool is_file(const struct tide_option_row *row)
{
  return row->value && (strcmp(row->value, "FILE") == 0 || strcmp(row->value, "DIR") == 0);
}

// Text inside single quotes; the characters of escaped get a backslash.
static void write_text(struct tide_sink *sink, const char *text, const char *escaped)
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

static void write_words(struct tide_sink *sink, const struct tide_option_row *row)
{
  for (size_t i = 0; i < row->n_words; i++)
    tide_sink_printf(sink, "%s%s", i ? " " : "", row->words[i]);
}

static void write_verbs(struct tide_sink *sink)
{
  for (int verb = 0; verb < TIDE_VERBS_N; verb++)
    tide_sink_printf(sink, "%s%s", verb ? " " : "", tide_verb_rows[verb].name);
}

// The table itself, one verb or option a line, for tests of what was made from it.
static void write_table(struct tide_sink *sink)
{
  for (int verb = 0; verb < TIDE_VERBS_N; verb++) {
    tide_sink_printf(sink, "verb\t%s\t%s\n", tide_verb_rows[verb].name,
                     tide_verb_rows[verb].operands);
    for (size_t i = 0; i < tide_option_rows_n; i++) {
      const struct tide_option_row *row = &tide_option_rows[i];
      if (!is_offered(row, verb))
        continue;
      tide_sink_printf(sink, "option\t%s\t%c\t%s\t%s\t%s\t", tide_verb_rows[verb].name,
                       row->letter ? row->letter : '-', row->name, row->value ? row->value : "-",
                       tide_option_is_optional(row) ? "optional" : "plain");
      write_words(sink, row);
      tide_sink_text(sink, "\n");
    }
  }
}

// ---- bash ----
//
// For bash 4 and later, with or without the bash-completion package. Bash splits words at '=', so
// "--sort=pe" arrives as three.

static const char bash_head[] =
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

static const char bash_middle[] =
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
static const char bash_find_command[] =
    "    while ((at < COMP_CWORD)); do\n"
    "      case ${COMP_WORDS[at]} in\n"
    "      --) ((at++)); _tidemark_command \"$at\"; return ;;\n";
static const char bash_command_found[] = "        [[ ${COMP_WORDS[at + 1]} == = ]] && ((at++))\n"
                                         "        ((at += 2)) ;;\n"
                                         "      -*) ((at++)) ;;\n"
                                         "      *) _tidemark_command \"$at\"; return ;;\n"
                                         "      esac\n"
                                         "    done\n";

static const char bash_value[] = "  if [[ $cur == = ]]; then\n"
                                 "    cur=\n"
                                 "  elif [[ $prev == = ]]; then\n"
                                 "    prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
                                 "  fi\n"
                                 "  _tidemark_value \"$verb\" \"$prev\" && return\n"
                                 "  case $verb in\n";

static const char bash_foot[] = "  esac\n"
                                "}\n"
                                "\n"
                                "complete -F _tidemark tidemark\n";

static void bash_write_name(struct tide_sink *sink, const char *before,
                            const struct tide_option_row *row, const char *between)
{
  if (row->letter)
    tide_sink_printf(sink, "%s-%c%s", before, row->letter, between);
  tide_sink_printf(sink, "%s--%s", before, row->name);
}

static void bash_write_values(struct tide_sink *sink, int verb)
{
  for (size_t i = 0; i < tide_option_rows_n; i++) {
    const struct tide_option_row *row = &tide_option_rows[i];
    if (!is_offered(row, verb) || !takes_word(row))
      continue;
    tide_sink_text(sink, "  ");
    if (row->letter)
      tide_sink_printf(sink, "%s:-%c | ", tide_verb_rows[verb].name, row->letter);
    tide_sink_printf(sink, "%s:--%s) ", tide_verb_rows[verb].name, row->name);
    if (row->n_words) {
      tide_sink_text(sink, "_tidemark_words \"");
      write_words(sink, row);
      tide_sink_text(sink, "\" ;;\n");
    } else {
      tide_sink_printf(sink, "%s ;;\n", is_file(row) ? "_tidemark_files" : ":");
    }
  }
}

static void bash_write_command_search(struct tide_sink *sink, int verb)
{
  const char *between = "";
  tide_sink_printf(sink, "  if [[ $verb == %s ]]; then\n%s      ", tide_verb_rows[verb].name,
                   bash_find_command);
  for (size_t i = 0; i < tide_option_rows_n; i++) {
    const struct tide_option_row *row = &tide_option_rows[i];
    if (!is_offered(row, verb) || !takes_word(row))
      continue;
    tide_sink_text(sink, between);
    bash_write_name(sink, "", row, " | ");
    between = " | ";
  }
  tide_sink_printf(sink, ")\n%s  fi\n", bash_command_found);
}

static void bash_write_verb(struct tide_sink *sink, int verb)
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
    if (!is_offered(&tide_option_rows[i], verb))
      continue;
    tide_sink_text(sink, before);
    bash_write_name(sink, "", &tide_option_rows[i], " ");
    before = " ";
  }
  tide_sink_printf(sink, "\"\n    else\n      %s\n    fi ;;\n",
                   operands[tide_verb_rows[verb].operand]);
}

static void write_bash(struct tide_sink *sink)
{
  tide_sink_text(sink, bash_head);
  for (int verb = 0; verb < TIDE_VERBS_N; verb++)
    bash_write_values(sink, verb);
  tide_sink_text(sink, bash_middle);
  for (int verb = 0; verb < TIDE_VERBS_N; verb++)
    if (tide_verb_rows[verb].operand == TIDE_OPERAND_COMMAND)
      bash_write_command_search(sink, verb);
  tide_sink_text(sink, bash_value);
  for (int verb = 0; verb < TIDE_VERBS_N; verb++)
    bash_write_verb(sink, verb);
  tide_sink_text(sink, bash_foot);
  tide_sink_text(sink, "_tidemark_verbs='");
  write_verbs(sink);
  tide_sink_text(sink, "'\n");
}

// ---- zsh ----
//
// For zsh's completion system: a file _tidemark in a directory of fpath.

static const char zsh_head[] = "#compdef tidemark\n"
                               "# zsh completion for tidemark, made from its option table\n"
                               "\n"
                               "_tidemark() {\n"
                               "  local -a verbs\n"
                               "  verbs=(\n";

static const char zsh_middle[] = "  )\n"
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

static const char zsh_foot[] = "  esac\n"
                               "}\n"
                               "\n"
                               "_tidemark \"$@\"\n";

// '(-s --sort)'{-s+,--sort=}'[rank by …]:WHAT:(peak live)'
static void zsh_write_option(struct tide_sink *sink, const struct tide_option_row *row)
{
  const char *letter_tail = row->value ? "+" : "", *name_tail = row->value ? "=" : "";
  if (tide_option_is_optional(row))
    name_tail = "=-"; // the value in the same word or none
  if (row->letter)
    tide_sink_printf(sink, "      '(-%c --%s)'{-%c%s,--%s%s}'[", row->letter, row->name,
                     row->letter, letter_tail, row->name, name_tail);
  else
    tide_sink_printf(sink, "      '--%s%s[", row->name, name_tail);
  write_text(sink, row->help, "[]\\");
  tide_sink_text(sink, "]");
  if (row->value) {
    tide_sink_printf(sink, "%s%s:", tide_option_is_optional(row) ? "::" : ":", row->value);
    if (row->n_words) {
      tide_sink_text(sink, "(");
      write_words(sink, row);
      tide_sink_text(sink, ")");
    } else {
      tide_sink_text(sink, is_file(row) ? "_files" : " ");
    }
  }
  tide_sink_text(sink, "' \\\n");
}

static void zsh_write_verb(struct tide_sink *sink, int verb)
{
  static const char *const operands[] = {
      [TIDE_OPERAND_NONE] = "'*: :'",
      [TIDE_OPERAND_COMMAND] = "'(-)1:command: _command_names -e' '*::arguments: _normal'",
      [TIDE_OPERAND_CAPTURE] = "'1:capture:_files -g \"*.(tide|store)(-.)\"'",
      [TIDE_OPERAND_VERB] = "'1:verb:{_describe -t verbs verb verbs}'",
  };
  tide_sink_printf(sink, "  %s)\n    _arguments -s -S : \\\n", tide_verb_rows[verb].name);
  for (size_t i = 0; i < tide_option_rows_n; i++)
    if (is_offered(&tide_option_rows[i], verb))
      zsh_write_option(sink, &tide_option_rows[i]);
  tide_sink_printf(sink, "      %s\n    ;;\n", operands[tide_verb_rows[verb].operand]);
}

static void write_zsh(struct tide_sink *sink)
{
  tide_sink_text(sink, zsh_head);
  for (int verb = 0; verb < TIDE_VERBS_N; verb++) {
    tide_sink_printf(sink, "    '%s:", tide_verb_rows[verb].name);
    write_text(sink, tide_verb_rows[verb].summary, ":\\");
    tide_sink_text(sink, "'\n");
  }
  tide_sink_text(sink, zsh_middle);
  for (int verb = 0; verb < TIDE_VERBS_N; verb++)
    zsh_write_verb(sink, verb);
  tide_sink_text(sink, zsh_foot);
}

// ---- fish ----
//
// For fish 3: one `complete` line per verb and option.

static const char fish_head[] =
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

static void fish_write_option(struct tide_sink *sink, int verb, const struct tide_option_row *row)
{
  tide_sink_printf(sink, "complete -c tidemark -n '__tidemark_verb %s'", tide_verb_rows[verb].name);
  if (row->letter)
    tide_sink_printf(sink, " -s %c", row->letter);
  tide_sink_printf(sink, " -l %s", row->name);
  if (row->n_words) {
    tide_sink_text(sink, " -x -a '");
    write_words(sink, row);
    tide_sink_text(sink, "'");
  } else if (takes_word(row)) {
    tide_sink_text(sink, is_file(row) ? " -r -F" : " -x");
  }
  tide_sink_text(sink, " -d '");
  write_text(sink, row->help, "");
  tide_sink_text(sink, "'\n");
}

// The options whose value is not the command yet.
static void fish_write_command(struct tide_sink *sink, int verb)
{
  tide_sink_text(sink, "(__fish_complete_subcommand --fcs-skip=2 --");
  for (size_t i = 0; i < tide_option_rows_n; i++) {
    const struct tide_option_row *row = &tide_option_rows[i];
    if (!is_offered(row, verb) || !takes_word(row))
      continue;
    if (row->letter)
      tide_sink_printf(sink, " -%c", row->letter);
    tide_sink_printf(sink, " --%s", row->name);
  }
  tide_sink_text(sink, ")");
}

static void fish_write_operand(struct tide_sink *sink, int verb)
{
  enum tide_operand operand = tide_verb_rows[verb].operand;
  if (operand == TIDE_OPERAND_NONE)
    return;
  tide_sink_printf(sink, "complete -c tidemark -n '__tidemark_verb %s' %s-a '",
                   tide_verb_rows[verb].name, operand == TIDE_OPERAND_CAPTURE ? "-k " : "-x ");
  if (operand == TIDE_OPERAND_COMMAND)
    fish_write_command(sink, verb);
  else if (operand == TIDE_OPERAND_CAPTURE)
    tide_sink_text(sink, "(__fish_complete_suffix .tide; __fish_complete_suffix .store)");
  else
    write_verbs(sink);
  tide_sink_text(sink, "'\n");
}

static void write_fish(struct tide_sink *sink)
{
  tide_sink_text(sink, fish_head);
  for (int verb = 0; verb < TIDE_VERBS_N; verb++) {
    tide_sink_printf(sink, "complete -c tidemark -n __tidemark_no_verb -a %s -d '",
                     tide_verb_rows[verb].name);
    write_text(sink, tide_verb_rows[verb].summary, "");
    tide_sink_text(sink, "'\n");
  }
  for (int verb = 0; verb < TIDE_VERBS_N; verb++) {
    fish_write_operand(sink, verb);
    for (size_t i = 0; i < tide_option_rows_n; i++)
      if (is_offered(&tide_option_rows[i], verb))
        fish_write_option(sink, verb, &tide_option_rows[i]);
  }
}

// ---- the program ----

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*write)(struct tide_sink *);
  } kinds[] = {
      {"bash", write_bash},
      {"zsh", write_zsh},
      {"fish", write_fish},
      {"table", write_table},
  };
  for (size_t i = 0; argc == 2 && i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(argv[1], kinds[i].name) != 0)
      continue;
    struct tide_sink sink;
    tide_sink_init(&sink, stdout);
    kinds[i].write(&sink);
    bool failed = tide_sink_finish(&sink, "standard output", NULL) != 0;
    tide_sink_done(&sink);
    return failed;
  }
  fputs("usage: completion_gen bash|zsh|fish|table\n", stderr);
  return 2;
}
