// SPDX-License-Identifier: Apache-2.0
//
// Rows of change, before, after, what happened, function and source line; below them what is not
// shown, and the total, which is their sum. On narrow screens the signs and empty cells say what
// happened, on wide ones blocks are shown beside bytes.
#include "report/diff_cells.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "view/terms.h"
#include "words/shorten.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_LEAST = 8, NAME_AND_LOCATION_LEAST = 20 };
enum { BEFORE_FROM = 60, WORDS_FROM = 100, BLOCKS_FROM = 110, WORD_COLUMNS = 6 };

struct table { // what every part needs
  const struct tide_screen *screen;
  const struct tide_diff *diff;
  enum tide_unit unit, other;
  size_t n_shown;
};

struct row { // all owned but kind
  char *change, *before, *after, *other, *location;
  const char *kind;
  int64_t by;
};

struct columns { // widths; 0: not there
  size_t change, before, after, other, kind, location, name;
  size_t words; // of a row without a location
};

enum tide_ink tide_diff_ink(int64_t change)
{
  return change > 0 ? TIDE_INK_MORE : change < 0 ? TIDE_INK_LESS : TIDE_INK_PLAIN;
}

static void widen_column(size_t *column, const char *text)
{
  size_t width = tide_utf8_width(text);
  if (*column < width)
    *column = width;
}

static int64_t other_change(const struct table *t, const struct tide_diff_place *place)
{
  bool blocks = t->other == TIDE_UNIT_BLOCKS;
  return blocks ? tide_number_change(place->before.blocks, place->after.blocks)
                : tide_number_change(place->before.bytes, place->after.bytes);
}

static char *amount_text(const struct table *t, const struct tide_view *side,
                         const struct tide_diff_amount *amount)
{
  return tide_diff_cell_side(t->screen, side, t->unit, tide_diff_measure(t->diff, amount));
}

static struct row make_row(const struct table *t, struct columns *c,
                           const struct tide_diff_place *place, const char *kind)
{
  struct row row = {.kind = kind, .by = tide_diff_change(t->diff, place)};
  row.change =
      tide_diff_cell_change(t->screen, t->unit, tide_diff_change_amount(t->diff, t->unit, row.by));
  row.before = amount_text(t, t->diff->before, &place->before);
  row.after = amount_text(t, t->diff->after, &place->after);
  row.other = tide_diff_cell_change(
      t->screen, t->other, tide_diff_change_amount(t->diff, t->other, other_change(t, place)));
  row.location = tide_strdup("");
  widen_column(&c->change, row.change);
  widen_column(&c->before, row.before);
  widen_column(&c->after, row.after);
  widen_column(&c->other, row.other);
  return row;
}

static void row_done(struct row *row)
{
  free(row->change);
  free(row->before);
  free(row->after);
  free(row->other);
  free(row->location);
}

static void write_numbers(const struct table *t, const struct columns *c, const struct row *row)
{
  struct tide_sink *sink = t->screen->sink;
  tide_sink_text(sink, "  ");
  tide_screen_right(t->screen, tide_diff_ink(row->by), row->change, c->change);
  tide_sink_text(sink, "  ");
  if (c->before) {
    tide_screen_right(t->screen, TIDE_INK_PLAIN, row->before, c->before);
    tide_sink_text(sink, "  ");
  }
  tide_screen_right(t->screen, TIDE_INK_STRONG, row->after, c->after);
  tide_sink_text(sink, "  ");
  if (c->other) {
    tide_screen_right(t->screen, TIDE_INK_PLAIN, row->other, c->other);
    tide_sink_text(sink, "  ");
  }
  if (c->kind)
    tide_screen_left(t->screen, TIDE_INK_PLAIN, row->kind, c->kind + 2);
}

static void write_row(const struct table *t, const struct columns *c, const struct row *row,
                      const char *name)
{
  write_numbers(t, c, row);
  TIDE_CLEANUP_FREE char *location =
      tide_shorten_location(row->location, c->location, t->screen->utf8);
  if (*location) {
    tide_screen_left(t->screen, TIDE_INK_PLAIN, name, c->name + 2);
    tide_screen_ink(t->screen, TIDE_INK_FAINT, location);
  } else {
    TIDE_CLEANUP_FREE char *fitted = tide_utf8_fit(name, c->words, t->screen->utf8);
    tide_sink_text(t->screen->sink, fitted);
  }
  tide_sink_text(t->screen->sink, "\n");
}

static size_t longest_name(const struct table *t, size_t width)
{
  size_t longest = 0;
  for (size_t i = 0; i < t->n_shown; i++) {
    TIDE_CLEANUP_FREE char *name =
        tide_diff_cell_name(t->screen, t->diff, &t->diff->places[i], width);
    widen_column(&longest, name);
  }
  return longest;
}

// The name gets what the others leave. Where both do not fit, the location gives way first, down to
// two fifths, and is then no wider than what is left of its texts.
static void share_out(const struct table *t, struct columns *c, const struct row *rows)
{
  size_t width = t->screen->width, longest = longest_name(t, width);
  size_t fixed = 2 + c->change + 2 + (c->before ? c->before + 2 : 0) + c->after + 2;
  fixed += (c->other ? c->other + 2 : 0) + (c->kind ? c->kind + 2 : 0);
  size_t left = width > fixed + NAME_LEAST ? width - fixed : NAME_LEAST;
  size_t spare = left > longest + 2 ? left - longest - 2 : 0;
  size_t most = spare > left * 2 / 5 ? spare : left * 2 / 5;
  c->location = 0;
  for (size_t i = 0; i < t->n_shown; i++) {
    TIDE_CLEANUP_FREE char *location =
        tide_shorten_location(rows[i].location, most, t->screen->utf8);
    widen_column(&c->location, left < NAME_AND_LOCATION_LEAST ? "" : location);
  }
  c->name = longest_name(t, left - c->location - (c->location ? 2 : 0));
  c->words = left;
}

static void write_titles(const struct table *t, const struct columns *c)
{
  bool in_blocks = t->other == TIDE_UNIT_BLOCKS;
  tide_sink_text(t->screen->sink, "  ");
  tide_screen_right(t->screen, TIDE_INK_FAINT, tide_term(TIDE_TERM_CHANGE), c->change);
  tide_sink_text(t->screen->sink, "  ");
  if (c->before) {
    tide_screen_right(t->screen, TIDE_INK_FAINT, tide_term(TIDE_TERM_BEFORE), c->before);
    tide_sink_text(t->screen->sink, "  ");
  }
  tide_screen_right(t->screen, TIDE_INK_FAINT, tide_term(TIDE_TERM_AFTER), c->after);
  if (c->other) {
    tide_sink_text(t->screen->sink, "  ");
    tide_screen_right(t->screen, TIDE_INK_FAINT,
                      tide_term(in_blocks ? TIDE_TERM_BLOCKS : TIDE_TERM_BYTES), c->other);
  }
  tide_sink_text(t->screen->sink, "\n");
}

static void write_table(const struct table *t, int64_t min_change)
{
  struct columns c = {.change = 6, .before = 6, .after = 6, .other = 6};
  struct row *rows = tide_alloc_array(t->n_shown + 3, sizeof *rows);
  struct tide_diff_place rest = tide_diff_rest(t->diff, t->n_shown);
  for (size_t i = 0; i < t->n_shown; i++) {
    const struct tide_diff_place *place = &t->diff->places[i];
    const char *kind = tide_change_words[tide_diff_change_kind(t->diff, place)];
    rows[i] = make_row(t, &c, place, kind);
    free(rows[i].location);
    rows[i].location = tide_diff_cell_location(t->diff, place);
  }
  rows[t->n_shown] = make_row(t, &c, &rest, "");
  rows[t->n_shown + 1] = make_row(t, &c, &t->diff->open, "");
  rows[t->n_shown + 2] = make_row(t, &c, &t->diff->total, "");
  c.kind = t->screen->width >= WORDS_FROM ? WORD_COLUMNS : 0;
  c.other = t->screen->width >= BLOCKS_FROM ? c.other : 0;
  c.before = t->screen->width >= BEFORE_FROM ? c.before : 0; // the change and after tell it
  share_out(t, &c, rows);
  write_titles(t, &c);
  for (size_t i = 0; i < t->n_shown; i++) {
    TIDE_CLEANUP_FREE char *name =
        tide_diff_cell_name(t->screen, t->diff, &t->diff->places[i], c.name);
    write_row(t, &c, &rows[i], name);
  }
  if (t->n_shown < t->diff->n) {
    TIDE_CLEANUP_FREE char *words = tide_diff_cell_rest(t->screen, t->diff, t->n_shown, min_change);
    write_row(t, &c, &rows[t->n_shown], words);
  }
  if (tide_diff_has_open(t->diff))
    write_row(t, &c, &rows[t->n_shown + 1], tide_diff_open_words(t->diff));
  write_row(t, &c, &rows[t->n_shown + 2], "in all");
  for (size_t i = 0; i < t->n_shown + 3; i++)
    row_done(&rows[i]);
  free(rows);
}

void tide_diff_table_write(const struct tide_screen *screen, const struct tide_diff *diff,
                           const struct tide_diff_options *options)
{
  const struct tide_question *question = &diff->after->profile->question;
  enum tide_unit unit = question->unit;
  struct table t = {screen, diff, unit, TIDE_UNIT_BLOCKS, tide_diff_rows(diff, options)};
  t.other = unit == TIDE_UNIT_BLOCKS ? TIDE_UNIT_BYTES : TIDE_UNIT_BLOCKS;
  size_t n_changed = diff->n - diff->counts[TIDE_CHANGE_NONE];
  const char *what = tide_diff_measure_words(question);
  if (n_changed) {
    const char *row = tide_diff_row_word(diff);
    TIDE_CLEANUP_FREE char *heading = tide_sprintf("%s, %s by %s:", what, row, row);
    tide_screen_paragraph(screen, TIDE_INK_PLAIN, "  ", "", heading);
    write_table(&t, options->min_change);
    return;
  }
  char count[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *held = tide_diff_cell_amount(
      screen, unit,
      tide_diff_side_amount(diff->after, unit, tide_diff_measure(diff, &diff->total.after)));
  const char *row = tide_diff_row_word(diff);
  TIDE_CLEANUP_FREE char *rows =
      tide_sprintf("%s %s%s", tide_units_plain(count, diff->n), row, diff->n == 1 ? "" : "s");
  TIDE_CLEANUP_FREE char *text = tide_sprintf(TIDE_DIFF_UNCHANGED, row, held, what, rows);
  tide_screen_paragraph(screen, TIDE_INK_PLAIN, "  ", "", text);
}
