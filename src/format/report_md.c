// SPDX-License-Identifier: Apache-2.0
//
// A table as GitHub reads it.
#include "format/report_rows.h"

#include "base/alloc.h"
#include "format/markdown.h"
#include "format/report_cells.h"
#include "view/places.h"

static void write_row(const struct tide_screen *screen, const struct tide_profile *profile,
                      const struct tide_place *place)
{
  char share[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *measure = tide_cell_measure(screen, &profile->question, place->measure);
  TIDE_CLEANUP_FREE char *extra = tide_cell_extra(screen, &profile->question, place);
  tide_sink_printf(screen->sink, "| %s | %s |",
                   tide_units_share(share, place->measure, profile->whole), measure);
  if (tide_question_text(&profile->question)->extra)
    tide_sink_printf(screen->sink, " %s |", extra);
}

static void write_place(const struct tide_screen *screen, const struct tide_profile *profile,
                        const struct tide_naming *naming, const struct tide_place *place)
{
  TIDE_CLEANUP_FREE char *name = tide_cell_name(screen, naming, place->frame, SIZE_MAX / 2);
  TIDE_CLEANUP_FREE char *location = tide_cell_location(naming, place->frame);
  write_row(screen, profile, place);
  tide_sink_text(screen->sink, " ");
  if (place->frame)
    tide_markdown_code(screen->sink, name);
  else
    tide_sink_text(screen->sink, name);
  tide_sink_text(screen->sink, " | ");
  tide_markdown_code(screen->sink, location);
  tide_sink_text(screen->sink, " |\n");
}

static void write_titles(const struct tide_screen *screen, const struct tide_question *question)
{
  const struct tide_question_text *words = tide_question_text(question);
  tide_sink_printf(screen->sink, "| share | %s |", words->measure);
  if (words->extra)
    tide_sink_printf(screen->sink, " %s |", words->extra);
  tide_sink_printf(screen->sink, " function | source |\n|--:|--:|%s:--|:--|\n",
                   words->extra ? "--:|" : "");
}

void tide_report_md_write(const struct tide_screen *screen, struct tide_view *view,
                          const struct tide_report_options *options)
{
  const struct tide_profile *profile = view->profile;
  struct tide_places *places = tide_places_new(view);
  size_t n_shown = tide_places_shown(places, options->n_places, options->min_bytes);
  struct tide_place rest = tide_places_rest(places, n_shown);
  write_titles(screen, &profile->question);
  for (size_t i = 0; i < n_shown; i++)
    write_place(screen, profile, view->naming, &places->items[i]);
  if (rest.measure > 0) {
    TIDE_CLEANUP_FREE char *words = tide_cell_rest(screen, places, n_shown, options->min_bytes);
    write_row(screen, profile, &rest);
    tide_sink_printf(screen->sink, " %s | |\n", words);
  }
  tide_places_free(places);
}
