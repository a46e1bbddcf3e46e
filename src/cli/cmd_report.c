// SPDX-License-Identifier: Apache-2.0
//
// tidemark report: the first screen again, or the same as JSON.
#include "cli/capture_open.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "format/report.h"
#include "format/report_json.h"

enum { PLACES_DEFAULT = 10 };

static enum tide_err write_report(const struct tide_arguments *arguments,
                                  const struct tide_opened *opened, struct tide_profile *profile,
                                  struct tide_diag *diag)
{
  struct tide_naming *naming = tide_naming_new(profile->image);
  struct tide_sink sink;
  tide_sink_init(&sink, stdout);
  if (arguments->json) {
    tide_report_json_write(&sink, profile, naming, opened->path, (enum tide_rank)arguments->sort,
                           arguments->top);
  } else {
    struct tide_screen screen = tide_terminal_screen(&sink, stdout, arguments);
    struct tide_report_options options = {
        .rank = (enum tide_rank)arguments->sort,
        .n_places = arguments->top ? arguments->top : PLACES_DEFAULT,
        .prefix = "",
        .argument = opened->by_default ? NULL : opened->path,
    };
    tide_report_write(&screen, profile, naming, &options);
  }
  enum tide_err err = tide_sink_finish(&sink, "the report", diag);
  tide_sink_done(&sink);
  tide_naming_free(naming);
  return err;
}

int tide_cmd_report(const struct tide_arguments *arguments)
{
  struct tide_opened opened = {0};
  struct tide_diag diag = {0};
  size_t image_idx = 0;
  enum tide_err err = tide_capture_open(arguments, &opened, &diag);
  if (err)
    return tide_cmd_failed(err, &diag);
  if (opened.by_default)
    tide_say("reading %s", opened.path);
  err = tide_profile_pick(opened.capture, arguments->process, &image_idx, &diag);
  if (!err) {
    struct tide_profile *profile = tide_profile_new(opened.capture, image_idx);
    err = write_report(arguments, &opened, profile, &diag);
    tide_profile_free(profile);
  }
  tide_opened_done(&opened);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
