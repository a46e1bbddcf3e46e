// SPDX-License-Identifier: Apache-2.0
//
// Rows of share, measure, function and source line, drawn in columns; below each, if asked for, its
// stacks. The last row holds whatever the rows above it do not, so that shares always add up.
#include "format/report_table.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "format/report_cells.h"
#include "format/report_stacks.h"

#include <stdlib.h>

struct table { // what every part needs
  const struct tide_screen *screen;
  struct tide_view *view;
  const struct tide_profile *profile;
  struct tide_naming *naming;
  const struct tide_places *places;
  const struct tide_report_options *options;
  size_t n_shown;
  int64_t whole; // what shares are of
};

struct row { // all owned
  char *share, *measure, *extra, *location;
};

struct columns { // widths
  size_t share, measure, extra, location, name;
};

static void widen(size_t *column, const char *text)
{
  size_t width = tide_utf8_width(text);
  if (*column < width)
    *column = width;
}

static size_t at_most(size_t value, size_t limit)
{
  return value < limit ? value : limit;
}

// The name gets what the others leave. Where both do not fit, the location gives way first, down to
// two fifths.
static void share_out(const struct tide_screen *screen, struct columns *c, size_t longest_name)
{
  size_t fixed = 2 + c->share + 2 + c->measure + 2 + (c->extra ? c->extra + 2 : 0);
  size_t left = screen->width > fixed + 20 ? screen->width - fixed : 20;
  size_t spare = left > longest_name + 2 ? left - longest_name - 2 : 0;
  c->location = at_most(c->location, spare > left * 2 / 5 ? spare : left * 2 / 5);
  c->name = left - c->location - (c->location ? 2 : 0);
}

static void write_row(const struct tide_screen *screen, const struct columns *c,
                      const struct row *row, const char *name)
{
  tide_sink_text(screen->sink, "  ");
  tide_screen_right(screen, TIDE_INK_PLAIN, row->share, c->share);
  tide_sink_text(screen->sink, "  ");
  tide_screen_right(screen, TIDE_INK_STRONG, row->measure, c->measure);
  tide_sink_text(screen->sink, "  ");
  if (c->extra) {
    tide_screen_right(screen, TIDE_INK_PLAIN, row->extra, c->extra);
    tide_sink_text(screen->sink, "  ");
  }
  TIDE_CLEANUP_FREE char *location = tide_utf8_fit(row->location, c->location, screen->utf8);
  if (*location) {
    tide_screen_left(screen, TIDE_INK_PLAIN, name, c->name + 2);
    tide_screen_ink(screen, TIDE_INK_FAINT, location);
  } else {
    tide_sink_text(screen->sink, name);
  }
  tide_sink_text(screen->sink, "\n");
}

static void row_done(struct row *row)
{
  free(row->share);
  free(row->measure);
  free(row->extra);
  free(row->location);
}

// What is not in the rows above: places past the last row, and stacks too small to be gathered.
static void write_rest(const struct table *t, const struct columns *c)
{
  struct tide_place rest = tide_places_rest(t->places, t->n_shown);
  if (rest.measure <= 0)
    return;
  char text[TIDE_UNITS_MAX];
  struct row row = {.share = tide_strdup(tide_units_share(text, rest.measure, t->whole)),
                    .measure = tide_cell_measure(t->screen, &t->profile->question, rest.measure),
                    .extra = tide_strdup(""),
                    .location = tide_strdup("")};
  TIDE_CLEANUP_FREE char *name =
      tide_cell_rest(t->screen, t->places, t->n_shown, t->options->min_bytes);
  write_row(t->screen, c, &row, name);
  row_done(&row);
}

static size_t longest_name(const struct table *t, size_t width)
{
  size_t longest = 0;
  for (size_t i = 0; i < t->n_shown; i++) {
    TIDE_CLEANUP_FREE char *name =
        tide_cell_name(t->screen, t->naming, t->places->items[i].frame, width);
    widen(&longest, name);
  }
  return longest;
}

static struct row *make_rows(const struct table *t, struct columns *c)
{
  struct row *rows = tide_alloc_array(t->n_shown + 1, sizeof *rows);
  for (size_t i = 0; i < t->n_shown; i++) {
    char text[TIDE_UNITS_MAX];
    const struct tide_place *place = &t->places->items[i];
    rows[i].share = tide_strdup(tide_units_share(text, place->measure, t->whole));
    rows[i].measure = tide_cell_measure(t->screen, &t->profile->question, place->measure);
    rows[i].extra = tide_cell_extra(t->screen, &t->profile->question, place);
    rows[i].location = tide_cell_location(t->naming, place->frame);
    widen(&c->share, rows[i].share);
    widen(&c->measure, rows[i].measure);
    widen(&c->extra, rows[i].extra);
    widen(&c->location, rows[i].location);
  }
  return rows;
}

static void write_places(const struct table *t)
{
  struct columns c = {.share = 7};
  struct row *rows = make_rows(t, &c);
  struct tide_stacks *stacks = NULL;
  if (t->options->n_stacks)
    stacks = tide_stacks_new(t->view, t->places, t->n_shown);
  share_out(t->screen, &c, longest_name(t, t->screen->width));
  c.name = longest_name(t, c.name); // no wider than needed: the locations stand close to the names
  for (size_t i = 0; i < t->n_shown; i++) {
    TIDE_CLEANUP_FREE char *name =
        tide_cell_name(t->screen, t->naming, t->places->items[i].frame, c.name);
    write_row(t->screen, &c, &rows[i], name);
    row_done(&rows[i]);
    if (stacks)
      tide_stacks_write(t->screen, stacks, i, t->options);
  }
  free(rows);
  tide_stacks_free(stacks);
  write_rest(t, &c);
}

void tide_report_table_write(const struct tide_screen *screen, struct tide_view *view,
                             const struct tide_places *places,
                             const struct tide_report_options *options)
{
  struct table t = {screen, view, view->profile, view->naming, places, options};
  t.n_shown = tide_places_shown(places, options->n_places, options->min_bytes);
  t.whole = view->whole;
  TIDE_CLEANUP_FREE char *heading =
      tide_question_heading(screen, &view->profile->question, places->n);
  tide_sink_printf(screen->sink, "  %s\n", heading);
  if (places->n)
    write_places(&t);
}
