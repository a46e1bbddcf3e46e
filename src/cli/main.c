// SPDX-License-Identifier: Apache-2.0
//
// The command: parse, dispatch, exit.
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/commit.h"
#include "cli/library.h"
#include "cli/opening.h"
#include "cli/terminal.h"

#include <locale.h>
#include <stdio.h>

// Prints help for a verb (TIDE_VERBS_N: for all) and gives the exit status.
static int print_help(enum tide_verb verb, FILE *stream)
{
  struct tide_sink sink;
  struct tide_diag diag;
  tide_sink_init(&sink, stream);
  if (verb == TIDE_VERBS_N) {
    tide_help_overview(&sink);
    tide_sink_printf(&sink, "\nTo read on: man tidemark, and %s/docs/README.md\n",
                     tide_documents_dir);
  } else
    tide_help_verb(&sink, verb);
  enum tide_err err = tide_sink_finish(&sink, "help", &diag);
  tide_sink_done(&sink);
  return err ? tide_cmd_failed(err, &diag) : 0;
}

static int help(const struct tide_arguments *arguments)
{
  struct tide_diag diag;
  if (arguments->n_rest == 0)
    return print_help(TIDE_VERBS_N, stdout);
  enum tide_verb verb = tide_verb_find(arguments->rest[0], &diag);
  return verb == TIDE_VERBS_N ? tide_cmd_failed(TIDE_ERR_USAGE, &diag) : print_help(verb, stdout);
}

static int version(void)
{
  printf("tidemark " TIDE_VERSION " (commit %s)\n", tide_commit);
  return fflush(stdout) == 0 ? 0 : 1;
}

static int dispatch(const struct tide_arguments *arguments)
{
  if (arguments->help && arguments->verb != TIDE_VERB_HELP)
    return print_help(arguments->verb, stdout);
  switch (arguments->verb) {
  case TIDE_VERB_RUN: return tide_cmd_run(arguments);
  case TIDE_VERB_ATTACH: return tide_cmd_attach(arguments);
  case TIDE_VERB_TOP: return tide_cmd_top(arguments);
  case TIDE_VERB_CTL: return tide_cmd_ctl(arguments);
  case TIDE_VERB_DETACH: return tide_cmd_detach(arguments);
  case TIDE_VERB_DOCTOR: return tide_cmd_doctor(arguments);
  case TIDE_VERB_MAPS: return tide_cmd_maps(arguments);
  case TIDE_VERB_REPORT: return tide_cmd_report(arguments);
  case TIDE_VERB_TREE: return tide_cmd_tree(arguments);
  case TIDE_VERB_DIFF: return tide_cmd_diff(arguments);
  case TIDE_VERB_CHECK: return tide_cmd_check(arguments);
  case TIDE_VERB_EXPLAIN: return tide_cmd_explain(arguments);
  case TIDE_VERB_MERGE: return tide_cmd_merge(arguments);
  case TIDE_VERB_FETCH: return tide_cmd_fetch(arguments);
  case TIDE_VERB_INFO: return tide_cmd_info(arguments);
  case TIDE_VERB_HTML: return tide_cmd_html(arguments);
  case TIDE_VERB_EXPORT: return tide_cmd_export(arguments);
  case TIDE_VERB_SYMBOLIZE: return tide_cmd_symbolize(arguments);
  case TIDE_VERB_VIEW: return tide_cmd_view(arguments);
  case TIDE_VERB_SERVE: return tide_cmd_serve(arguments);
  case TIDE_VERB_HELP: return help(arguments);
  case TIDE_VERB_VERSION: return version();
  case TIDE_VERBS_N: break;
  }
  return 2;
}

int main(int argc, char **argv)
{
  struct tide_arguments arguments;
  struct tide_diag diag = {0};
  setlocale(LC_CTYPE, "");
  if (argc < 2) {
    print_help(TIDE_VERBS_N, stderr);
    return 2;
  }
  enum tide_err err = tide_arguments_parse(argc, argv, &arguments, &diag);
  if (!err)
    err = tide_sources_check(&arguments, &diag);
  int status = err ? tide_cmd_failed(err, &diag) : dispatch(&arguments);
  // `run` promises 125 for whatever is our own fault.
  if (err && argc > 1 && arguments.verb == TIDE_VERB_RUN)
    status = 125;
  tide_arguments_done(&arguments);
  return status;
}
