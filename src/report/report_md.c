// SPDX-License-Identifier: Apache-2.0
//
// A table as GitHub reads it.
#include "report/report.h"

#include "base/alloc.h"
#include "report/markup.h"
#include "report/report_cells.h"
#include "view/groups.h"
#include "view/terms.h"

static void write_row(const struct tide_screen *screen, const struct tide_view *view,
                      enum tide_group_kind kind, const struct tide_group *group)
{
  char share[TIDE_UNITS_MAX];
  const struct tide_question *question = &view->profile->question;
  struct tide_amount amount =
      tide_question_estimate(view->profile->image, question, group->measure, &group->numbers);
  TIDE_CLEANUP_FREE char *measure = tide_cell_measure(screen, question, amount);
  TIDE_CLEANUP_FREE char *extra = tide_cell_extra(screen, view->profile, kind, group);
  tide_sink_printf(screen->sink, "| %s | %s |",
                   tide_units_share(share, amount, tide_view_all(view), tide_screen_cells(screen)),
                   measure);
  if (tide_extra_title(question, kind))
    tide_sink_printf(screen->sink, " %s |", extra);
}

static void write_group(const struct tide_screen *screen, struct tide_view *view,
                        const struct tide_groups *groups, size_t group_idx)
{
  const struct tide_group *group = &groups->items[group_idx];
  const struct tide_group_ways ways = tide_groups_ways(groups, view, group_idx);
  TIDE_CLEANUP_FREE char *way = tide_cell_ways(screen, view->naming, &ways, SIZE_MAX / 4);
  TIDE_CLEANUP_FREE char *name = tide_cell_group(screen, view, groups, group, SIZE_MAX / 2);
  TIDE_CLEANUP_FREE char *location = tide_cell_group_location(view, groups, group);
  write_row(screen, view, groups->kind, group);
  tide_sink_text(screen->sink, " ");
  if (group->frame || (groups->kind == TIDE_GROUP_THREAD && !group->several))
    tide_markdown_code(screen->sink, name);
  else // our own words
    tide_sink_text(screen->sink, name);
  tide_sink_text(screen->sink, " | ");
  tide_markdown_code(screen->sink, location);
  tide_sink_text(screen->sink, *way ? " " : "");
  if (*way)
    tide_markdown_code(screen->sink, way);
  tide_sink_text(screen->sink, " |\n");
}

static void write_titles(const struct tide_screen *screen, const struct tide_question *question,
                         enum tide_group_kind kind)
{
  const char *extra = tide_extra_title(question, kind);
  bool of_function = kind == TIDE_GROUP_PLACE || tide_group_kind_is_stacks(kind);
  TIDE_CLEANUP_FREE char *measure = tide_question_words(screen, question);
  tide_sink_printf(screen->sink, "| %s | %s |", tide_term(TIDE_TERM_SHARE), measure);
  if (extra)
    tide_sink_printf(screen->sink, " %s |", extra);
  tide_sink_printf(screen->sink, " %s | %s |\n|--:|--:|%s:--|:--|\n",
                   of_function ? tide_term(TIDE_TERM_FUNCTION) : tide_group_words[kind],
                   tide_term(of_function ? TIDE_TERM_SOURCE : TIDE_TERM_WHERE),
                   extra ? "--:|" : "");
}

void tide_report_md_write(const struct tide_screen *screen, struct tide_view *view,
                          const struct tide_report_options *options)
{
  struct tide_groups *groups = tide_groups_new(view, options->group);
  size_t n_shown = tide_groups_shown(groups, options->n_rows, options->min_bytes);
  if (view->profile->question.measure == TIDE_MEASURE_LEAK)
    tide_groups_tell_fates(groups, view->profile->image, n_shown);
  struct tide_group rest = tide_groups_rest(groups, n_shown);
  write_titles(screen, &view->profile->question, options->group);
  for (size_t i = 0; i < n_shown; i++)
    write_group(screen, view, groups, i);
  if (rest.measure != 0) {
    TIDE_CLEANUP_FREE char *words = tide_cell_rest(screen, groups, n_shown, options->min_bytes);
    write_row(screen, view, groups->kind, &rest);
    tide_sink_printf(screen->sink, " %s | |\n", words);
  }
  tide_groups_free(groups);
}
