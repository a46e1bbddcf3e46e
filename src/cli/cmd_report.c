// SPDX-License-Identifier: Apache-2.0
//
// tidemark report: the first screen again, or the same for other programs.
#include "cli/capture_open.h"
#include "cli/commands.h"
#include "cli/pager.h"
#include "cli/rules_open.h"
#include "cli/terminal.h"
#include "format/report.h"
#include "format/report_cells.h"
#include "format/report_json.h"
#include "format/report_rows.h"

enum { PLACES_DEFAULT = 10 };

// What does not go together, or would be ignored without a word.
static enum tide_err check(const struct tide_arguments *arguments, struct tide_diag *diag)
{
  bool table = arguments->csv || arguments->md;
  if (arguments->json + arguments->csv + arguments->md > 1)
    return tide_fail(diag, TIDE_ERR_USAGE, "one of --json, --csv and --md at a time");
  if (arguments->min_bytes && arguments->json)
    return tide_fail(diag, TIDE_ERR_USAGE, "--min is for tables; JSON holds every stack");
  if (arguments->stacks && (table || arguments->json))
    return tide_fail(diag, TIDE_ERR_USAGE, "--stacks is for text; --json has every stack");
  if (arguments->all_frames && table)
    return tide_fail(diag, TIDE_ERR_USAGE, "--all-frames is for text and JSON; tables have none");
  return TIDE_ERR_OK;
}

static enum tide_err write_report(const struct tide_arguments *arguments,
                                  const struct tide_opened *opened, struct tide_profile *profile,
                                  const struct tide_rules *rules, struct tide_diag *diag)
{
  struct tide_report_options options = {
      .n_places = arguments->top   ? arguments->top
                  : arguments->csv ? SIZE_MAX
                                   : PLACES_DEFAULT,
      .min_bytes = arguments->min_bytes < INT64_MAX ? (int64_t)arguments->min_bytes : INT64_MAX,
      .n_stacks = arguments->all_frames && !arguments->stacks ? 1 : arguments->stacks,
      .all_frames = arguments->all_frames,
      .prefix = "",
      .argument = opened->by_default ? NULL : opened->path,
  };
  struct tide_naming *naming = tide_naming_new(profile->image);
  tide_naming_set_rules(naming, rules);
  struct tide_sink sink;
  if (arguments->json || arguments->csv || arguments->md)
    tide_sink_init(&sink, stdout);
  else
    tide_pager_begin(&sink, arguments);
  struct tide_screen screen = tide_terminal_screen(&sink, stdout, arguments);
  if (arguments->json)
    tide_report_json_write(&sink, profile, naming, opened->path, arguments->top);
  else if (arguments->csv)
    tide_report_csv_write(&sink, profile, naming, &options);
  else if (arguments->md)
    tide_report_md_write(&screen, profile, naming, &options);
  else
    tide_report_write(&screen, profile, naming, &options);
  enum tide_err err = tide_pager_finish(&sink, "the report", diag);
  tide_naming_free(naming);
  return err;
}

static enum tide_err ask(const struct tide_arguments *arguments, struct tide_profile *profile,
                         struct tide_diag *diag)
{
  const struct tide_wish wish = {arguments->sort, (enum tide_by)arguments->by, arguments->at,
                                 arguments->range};
  struct tide_question question;
  enum tide_err err = tide_question_make(profile->image, &wish, &question, diag);
  if (!err && arguments->min_bytes && question.unit != TIDE_UNIT_BYTES)
    err = tide_fail(diag, TIDE_ERR_USAGE, "--min is a size, but blocks are counted here");
  if (!err)
    tide_profile_ask(profile, &question);
  return err;
}

int tide_cmd_report(const struct tide_arguments *arguments)
{
  struct tide_opened opened = {0};
  struct tide_diag diag = {0};
  size_t image_idx = 0;
  struct tide_rules *rules = NULL;
  enum tide_err err = check(arguments, &diag);
  if (!err)
    err = tide_rules_open(arguments, &rules, &diag);
  if (!err)
    err = tide_capture_open(arguments, &opened, &diag);
  if (err) {
    tide_rules_free(rules);
    return tide_cmd_failed(err, &diag);
  }
  if (opened.by_default)
    tide_say("reading %s", opened.path);
  err = tide_profile_pick(opened.capture, arguments->process, &image_idx, &diag);
  if (!err) {
    struct tide_profile *profile = tide_profile_new(opened.capture, image_idx);
    err = ask(arguments, profile, &diag);
    if (!err)
      err = write_report(arguments, &opened, profile, rules, &diag);
    tide_profile_free(profile);
  }
  tide_opened_done(&opened);
  tide_rules_free(rules);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
