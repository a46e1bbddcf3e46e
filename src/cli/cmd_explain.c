// SPDX-License-Identifier: Apache-2.0
//
// tidemark explain: what is wrong, where, and what to do about it.
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/terminal.h"
#include "findings/findings.h"
#include "report/explain.h"

#include <stdio.h>

enum { FINDINGS_DEFAULT = 5 };

static enum tide_err write_explanation(const struct tide_arguments *arguments,
                                       const struct tide_explanation *explanation,
                                       struct tide_diag *diag)
{
  struct tide_sink sink;
  if (arguments->json) {
    tide_sink_init(&sink, stdout);
    tide_explain_json_write(&sink, explanation);
  } else {
    tide_pager_begin(&sink, arguments);
    struct tide_screen screen = tide_terminal_screen(&sink, stdout, arguments);
    tide_explain_text_write(&screen, explanation);
  }
  return tide_pager_finish(&sink, "the findings", diag);
}

int tide_cmd_explain(const struct tide_arguments *arguments)
{
  struct tide_looking looking = {0};
  struct tide_diag diag = {0};
  const char *path = NULL;
  enum tide_err err = tide_looking_path(arguments, &path, &diag);
  if (!err)
    err = tide_looking_open(arguments, path, NULL, &looking, &diag);
  if (!err) {
    struct tide_findings *findings = tide_findings_new(looking.profile, looking.naming);
    struct tide_explanation explanation = {
        .findings = findings,
        .profile = looking.profile,
        .naming = looking.naming,
        .file = looking.opened.path,
        .n_most = arguments->top    ? arguments->top
                  : arguments->json ? SIZE_MAX
                                    : FINDINGS_DEFAULT,
    };
    err = write_explanation(arguments, &explanation, &diag);
    tide_findings_free(findings);
  }
  tide_looking_done(&looking);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
