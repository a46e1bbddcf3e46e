// SPDX-License-Identifier: Apache-2.0
//
// tidemark explain: what is wrong, where, and what to do about it; of two captures, what became of
// it.
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/terminal.h"
#include "findings/findings.h"
#include "report/explain.h"
#include "view/blame.h"

#include <stdio.h>

enum { FINDINGS_DEFAULT = 5 };

struct side { // one capture, or process, and what is found in it
  struct tide_looking looking;
  struct tide_findings *findings;
  uint32_t pid; // 0: a capture
};

static struct tide_explanation explanation_of(const struct tide_arguments *arguments,
                                              const struct side *side)
{
  return (struct tide_explanation){
      .findings = side->findings,
      .profile = side->looking.profile,
      .naming = side->looking.naming,
      .file = side->looking.opened.path,
      .pid = side->pid,
      .n_most = arguments->top    ? arguments->top
                : arguments->json ? SIZE_MAX
                                  : FINDINGS_DEFAULT,
  };
}

static void find(struct side *side)
{
  side->findings = tide_findings_new(side->looking.profile, side->looking.naming);
}

static void side_done(struct side *side)
{
  tide_findings_free(side->findings);
  tide_looking_done(&side->looking);
}

static enum tide_err write_one(const struct tide_arguments *arguments, const struct side *side,
                               struct tide_diag *diag)
{
  const struct tide_explanation explanation = explanation_of(arguments, side);
  struct tide_sink sink;
  if (arguments->json) {
    tide_sink_init(&sink, stdout);
    tide_explain_json_write(&sink, &explanation);
  } else {
    tide_pager_begin(&sink, arguments);
    struct tide_screen screen = tide_terminal_screen(&sink, stdout, arguments);
    tide_explain_text_write(&screen, &explanation);
  }
  return tide_pager_finish(&sink, "the findings", diag);
}

static enum tide_err write_two(const struct tide_arguments *arguments,
                               const struct tide_comparison *comparison, struct tide_diag *diag)
{
  struct tide_sink sink;
  if (arguments->json) {
    tide_sink_init(&sink, stdout);
    tide_explain_two_json_write(&sink, comparison);
  } else {
    tide_pager_begin(&sink, arguments);
    struct tide_screen screen = tide_terminal_screen(&sink, stdout, arguments);
    tide_explain_two_text_write(&screen, comparison);
  }
  return tide_pager_finish(&sink, "the findings", diag);
}

static enum tide_err explain_one(const struct tide_arguments *arguments, const char *path,
                                 struct tide_diag *diag)
{
  struct side side = {0};
  enum tide_err err = tide_looking_open(arguments, path, NULL, &side.looking, diag);
  if (!err) {
    find(&side);
    err = write_one(arguments, &side, diag);
  }
  side_done(&side);
  return err;
}

static enum tide_err explain_process(const struct tide_arguments *arguments, uint32_t pid,
                                     struct tide_diag *diag)
{
  struct side side = {0};
  enum tide_err err = tide_looking_process(arguments, pid, &side.looking, diag);
  if (!err) {
    find(&side);
    side.pid = pid;
    err = write_one(arguments, &side, diag);
  }
  side_done(&side);
  return err;
}

static enum tide_err explain_two(const struct tide_arguments *arguments, struct tide_diag *diag)
{
  struct side before = {0}, after = {0};
  enum tide_err err = tide_looking_open(arguments, arguments->rest[0], NULL, &before.looking, diag);
  if (!err)
    err = tide_looking_open(arguments, arguments->rest[1], NULL, &after.looking, diag);
  if (!err && before.looking.profile->question.measure != after.looking.profile->question.measure)
    err = tide_fail(diag, TIDE_ERR_USAGE, "%s and %s do not hold the same measure: explain one",
                    before.looking.opened.path, after.looking.opened.path);
  if (!err) {
    tide_wrappers_share(before.looking.naming, after.looking.naming);
    find(&before);
    find(&after);
    struct tide_diff *diff =
        tide_diff_new(&before.looking.view, &after.looking.view, TIDE_GROUP_PLACE);
    const struct tide_comparison comparison = {explanation_of(arguments, &before),
                                               explanation_of(arguments, &after), .diff = diff};
    err = write_two(arguments, &comparison, diag);
    tide_diff_free(diff);
  }
  side_done(&before);
  side_done(&after);
  return err;
}

int tide_cmd_explain(const struct tide_arguments *arguments)
{
  struct tide_diag diag = {0};
  const char *first = arguments->n_rest ? arguments->rest[0] : NULL;
  uint32_t pid = 0;
  enum tide_err err =
      arguments->n_rest > 2
          ? tide_fail(&diag, TIDE_ERR_USAGE, "two files at a time: \"%s\" is one too many",
                      arguments->rest[2])
          : TIDE_ERR_OK;
  if (!err && arguments->n_rest < 2)
    err = tide_looking_pid(first, &pid, &diag);
  if (!err)
    err = pid                      ? explain_process(arguments, pid, &diag)
          : arguments->n_rest == 2 ? explain_two(arguments, &diag)
                                   : explain_one(arguments, first, &diag);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
