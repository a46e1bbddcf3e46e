// SPDX-License-Identifier: Apache-2.0
//
// tidemark report: the first screen again, or the same for other programs.
#include "base/alloc.h"
#include "base/buf.h"
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/terminal.h"
#include "findings/findings.h"
#include "page/html_report.h"
#include "report/report.h"
#include "report/report_cells.h"

#include <stdlib.h>

enum { ROWS_DEFAULT = 10 };

static enum tide_group_kind kind_of(const struct tide_arguments *arguments)
{
  return arguments->group < 0 ? TIDE_GROUP_PLACE : (enum tide_group_kind)arguments->group;
}

static bool in_classes(const struct tide_arguments *arguments)
{
  return tide_group_kind_is_classes(kind_of(arguments));
}

// What does not go together, or would be ignored without a word.
static enum tide_err check_report_arguments(const struct tide_arguments *arguments,
                                            struct tide_diag *diag)
{
  bool table = arguments->csv || arguments->md;
  if (arguments->json + arguments->csv + arguments->md > 1)
    return tide_fail(diag, TIDE_ERR_USAGE, "one of --json, --csv and --md at a time");
  if (arguments->min_bytes && arguments->json)
    return tide_fail(diag, TIDE_ERR_USAGE, "--min is for tables; -n limits JSON");
  if (arguments->all && !arguments->json)
    return tide_fail(diag, TIDE_ERR_USAGE, "--all is for --json: stacks that weigh nothing, too");
  if (arguments->stacks && (table || arguments->json))
    return tide_fail(diag, TIDE_ERR_USAGE, "--stacks is for text; --json has every stack");
  if (arguments->details && (table || arguments->json))
    return tide_fail(diag, TIDE_ERR_USAGE, "--details is for text; --json --group has them all");
  if (arguments->details && tide_group_kind_is_across(kind_of(arguments)))
    return tide_fail(diag, TIDE_ERR_USAGE, "--details is for rows that are parts of the code");
  if (arguments->details && kind_of(arguments) == TIDE_GROUP_PAGES)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--details is of blocks of the heap: without --group pages");
  if (arguments->all_frames && table)
    return tide_fail(diag, TIDE_ERR_USAGE, "--all-frames is for text and JSON; tables have none");
  return TIDE_ERR_OK;
}

// The options that choose stacks, as they were typed: owned, NULL without any.
static char *filter_words(const struct tide_arguments *arguments)
{
  const struct {
    const char *name, *pattern;
  } all[] = {
      {"function", arguments->function}, {"file", arguments->file},   {"module", arguments->module},
      {"ignore", arguments->ignore},     {"focus", arguments->focus},
  };
  struct tide_buf words = {0};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].pattern)
      tide_buf_printf(&words, "%s--%s %s", words.n ? " " : "", all[i].name, all[i].pattern);
  char *text = words.n ? tide_strdup(tide_buf_cstr(&words)) : NULL;
  tide_buf_done(&words);
  return text;
}

static size_t rows_wanted(const struct tide_arguments *arguments)
{
  if (arguments->top)
    return arguments->top;
  return arguments->csv || in_classes(arguments) ? SIZE_MAX : ROWS_DEFAULT;
}

// Findings are of the whole run: they go with a report that chooses nothing.
static bool wants_findings(const struct tide_arguments *arguments, const char *filters)
{
  return !filters && arguments->sort < 0 && !arguments->at && !arguments->range &&
         arguments->group < 0 && arguments->by == TIDE_BY_DEFAULT && !arguments->suppressions &&
         !arguments->csv && !arguments->md;
}

static enum tide_err write_report(const struct tide_arguments *arguments,
                                  struct tide_looking *looking,
                                  const struct tide_findings *findings, struct tide_diag *diag)
{
  const struct tide_opened *opened = &looking->opened;
  const enum tide_group_kind group = kind_of(arguments);
  TIDE_CLEANUP_FREE char *filters = filter_words(arguments);
  struct tide_report_options options = {
      .group = group,
      .n_rows = rows_wanted(arguments),
      .min_bytes = arguments->min_bytes < INT64_MAX ? (int64_t)arguments->min_bytes : INT64_MAX,
      .n_stacks = arguments->all_frames && !arguments->stacks ? 1 : arguments->stacks,
      .all_frames = arguments->all_frames,
      .details = arguments->details,
      .suppressions = looking->suppressions,
      .filters = filters,
      .prefix = "",
      .has_page = tide_embedded_page(),
      .findings = findings,
      .argument = opened->by_default ? NULL : opened->path,
  };
  const struct tide_report_json_options json = {
      .suppressions = looking->suppressions,
      .file = opened->path,
      .n = arguments->top,
      .weightless = arguments->all,
      .group = arguments->group < 0 ? NULL : &group,
      .findings = findings,
  };
  struct tide_sink sink;
  if (arguments->json || arguments->csv || arguments->md)
    tide_sink_init(&sink, stdout);
  else
    tide_pager_begin(&sink, arguments);
  struct tide_screen screen = tide_terminal_screen(&sink, stdout, arguments);
  if (looking->profile->image->of_events)
    screen.units = TIDE_UNITS_WEIGHT;
  if (arguments->json)
    tide_report_json_write(&sink, &looking->view, &json);
  else if (arguments->csv)
    tide_report_csv_write(&sink, &looking->view, &options);
  else if (arguments->md)
    tide_report_md_write(&screen, &looking->view, &options);
  else
    tide_report_write(&screen, &looking->view, &options);
  return tide_pager_finish(&sink, "the report", diag);
}

// Suppressions are of leaks. Of allocations every block's class is known: they are what is told of
// classes when nothing is asked.
static struct tide_wish wish_of(const struct tide_arguments *arguments)
{
  bool open = arguments->sort < 0 && !arguments->at && !arguments->range &&
              arguments->by == TIDE_BY_DEFAULT && !arguments->min_bytes;
  return (struct tide_wish){
      .sort = arguments->sort < 0 && arguments->suppressions ? TIDE_MEASURE_LEAK
              : open && in_classes(arguments)                ? TIDE_SORT_COUNT
                                                             : arguments->sort,
      .by = (enum tide_by)arguments->by,
      .at = arguments->at,
      .range = arguments->range,
      .of_pages = kind_of(arguments) == TIDE_GROUP_PAGES,
  };
}

int tide_cmd_report(const struct tide_arguments *arguments)
{
  const struct tide_wish wish = wish_of(arguments);
  struct tide_looking looking = {0};
  struct tide_diag diag = {0};
  const char *path = NULL;
  enum tide_err err = check_report_arguments(arguments, &diag);
  if (!err)
    err = tide_looking_path(arguments, &path, &diag);
  if (!err)
    err = tide_looking_open(arguments, path, &wish, &looking, &diag);
  if (!err)
    err = tide_groups_check(kind_of(arguments), looking.profile->image, &diag);
  if (!err) {
    TIDE_CLEANUP_FREE char *filters = filter_words(arguments);
    struct tide_findings *findings = wants_findings(arguments, filters)
                                         ? tide_findings_new_beside(looking.profile, looking.naming)
                                         : NULL;
    err = write_report(arguments, &looking, findings, &diag);
    tide_findings_free(findings);
  }
  tide_looking_done(&looking);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
