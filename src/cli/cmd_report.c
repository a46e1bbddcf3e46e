// SPDX-License-Identifier: Apache-2.0
//
// tidemark report: the first screen again, or the same for other programs.
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/pager.h"
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
                                  struct tide_looking *looking, struct tide_diag *diag)
{
  const struct tide_opened *opened = &looking->opened;
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
  struct tide_sink sink;
  if (arguments->json || arguments->csv || arguments->md)
    tide_sink_init(&sink, stdout);
  else
    tide_pager_begin(&sink, arguments);
  struct tide_screen screen = tide_terminal_screen(&sink, stdout, arguments);
  if (arguments->json)
    tide_report_json_write(&sink, &looking->view, opened->path, arguments->top);
  else if (arguments->csv)
    tide_report_csv_write(&sink, &looking->view, &options);
  else if (arguments->md)
    tide_report_md_write(&screen, &looking->view, &options);
  else
    tide_report_write(&screen, &looking->view, &options);
  return tide_pager_finish(&sink, "the report", diag);
}

int tide_cmd_report(const struct tide_arguments *arguments)
{
  struct tide_looking looking = {0};
  struct tide_diag diag = {0};
  const char *path = NULL;
  enum tide_err err = check(arguments, &diag);
  if (!err)
    err = tide_looking_path(arguments, &path, &diag);
  if (!err)
    err = tide_looking_open(arguments, path, NULL, &looking, &diag);
  if (!err)
    err = write_report(arguments, &looking, &diag);
  tide_looking_done(&looking);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
