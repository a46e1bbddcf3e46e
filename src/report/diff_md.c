// SPDX-License-Identifier: Apache-2.0
//
// The table for reviews. Signs are + and -, since nobody knows which fonts it meets.
#include "report/diff.h"

#include "base/alloc.h"
#include "report/diff_cells.h"
#include "report/markup.h"
#include "view/terms.h"

#include <stdlib.h>

static void write_numbers(const struct tide_screen *screen, const struct tide_diff *diff,
                          const struct tide_diff_place *place, const char *kind)
{
  enum tide_unit unit = diff->after->profile->question.unit;
  TIDE_CLEANUP_FREE char *change = tide_diff_cell_signed(
      screen, unit, tide_diff_change_amount(diff, unit, tide_diff_change(diff, place)));
  TIDE_CLEANUP_FREE char *before =
      tide_diff_cell_side(screen, diff->before, unit, tide_diff_measure(diff, &place->before));
  TIDE_CLEANUP_FREE char *after =
      tide_diff_cell_side(screen, diff->after, unit, tide_diff_measure(diff, &place->after));
  tide_sink_printf(screen->sink, "| %s | %s | %s | %s |", change, before, after, kind);
}

static void write_place(const struct tide_screen *screen, const struct tide_diff *diff,
                        const struct tide_diff_place *place)
{
  TIDE_CLEANUP_FREE char *name = tide_diff_cell_name(screen, diff, place, SIZE_MAX / 2);
  TIDE_CLEANUP_FREE char *location = tide_diff_cell_location(diff, place);
  bool has_name = place->kind == TIDE_DIFF_PLACE && !place->is_module;
  write_numbers(screen, diff, place, tide_change_words[tide_diff_change_kind(diff, place)]);
  tide_sink_text(screen->sink, " ");
  if (has_name)
    tide_markdown_code(screen->sink, name);
  else
    tide_sink_text(screen->sink, name);
  tide_sink_text(screen->sink, " | ");
  tide_markdown_code(screen->sink, location);
  tide_sink_text(screen->sink, " |\n");
}

void tide_diff_md_write(const struct tide_screen *screen, const struct tide_diff *diff,
                        const struct tide_diff_options *options)
{
  size_t n_shown = tide_diff_rows(diff, options);
  struct tide_diff_place rest = tide_diff_rest(diff, n_shown);
  tide_sink_printf(screen->sink,
                   "| %s: %s | %s | %s | %s | %s | %s |\n"
                   "|--:|--:|--:|:--|:--|:--|\n",
                   tide_diff_measure_words(&diff->after->profile->question),
                   tide_term(TIDE_TERM_CHANGE), tide_term(TIDE_TERM_BEFORE),
                   tide_term(TIDE_TERM_AFTER), tide_term(TIDE_TERM_KIND),
                   diff->group == TIDE_GROUP_PLACE ? tide_term(TIDE_TERM_FUNCTION)
                                                   : tide_group_words[diff->group],
                   tide_term(TIDE_TERM_SOURCE));
  for (size_t i = 0; i < n_shown; i++)
    write_place(screen, diff, &diff->places[i]);
  if (n_shown < diff->n) {
    TIDE_CLEANUP_FREE char *words = tide_diff_cell_rest(screen, diff, n_shown, options->min_change);
    write_numbers(screen, diff, &rest, "");
    tide_sink_printf(screen->sink, " %s | |\n", words);
  }
  if (tide_diff_has_open(diff)) {
    write_numbers(screen, diff, &diff->open, "");
    tide_sink_printf(screen->sink, " %s | |\n", tide_diff_open_words(diff));
  }
  write_numbers(screen, diff, &diff->total, "");
  tide_sink_text(screen->sink, " **in all** | |\n");
}
