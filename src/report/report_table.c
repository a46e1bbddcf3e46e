// SPDX-License-Identifier: Apache-2.0
//
// Rows of share, measure, bar, curve, name and source line, drawn in columns; below each, if asked
// for, its stacks. The last row holds whatever the rows above it do not, so that shares always add
// up.
//
// Numbers always fit. Bars and curves take what the names leave or, on a wide screen, what longer
// names can spare; on a narrow one the curves go first, then the bars.
#include "report/report_cells.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "profile/timeline.h"
#include "report/screen.h"
#include "view/terms.h"
#include "words/culprit_words.h"
#include "words/growth_words.h"
#include "words/shorten.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_LEAST = 12, NAME_AND_LOCATION_LEAST = 22 };
enum {
  BAR_LEAST = 4,
  BAR_MOST = 10,
  CURVE_LEAST = 10,
  CURVE_MOST = 24,
  LOCATION_LEAST = 16,
  WORDS_LEAST = 34,      // or the one more column is left out
  WORDS_BESIDE_BAR = 52, // columns that long names and their locations keep
  WORDS_BESIDE_CURVE = 60,
  SNAPSHOTS_LEAST = 4, // fewer say nothing
  WAY_LEAST = 28,      // columns beside a row, or the way has a line of its own
};

struct row { // all owned
  char *share, *measure, *extra, *location;
  struct tide_group_ways ways;
};

struct columns { // widths; 0: left out
  size_t share, measure, bar, curve, extra, location, name, way;
};

struct table { // what every part needs
  const struct tide_screen *screen;
  struct tide_view *view;
  const struct tide_groups *groups;
  const struct tide_report_options *options;
  size_t n_shown;
  struct row *rows;
  struct columns columns;
  struct tide_timeline *timeline; // where there are curves
  bool has_ways;                  // of any row
};

static void widen_column(size_t *column, const char *text)
{
  size_t width = tide_utf8_width(text);
  if (*column < width)
    *column = width;
}

static size_t at_most(size_t value, size_t limit)
{
  return value < limit ? value : limit;
}

static size_t at_least(size_t value, size_t limit)
{
  return value > limit ? value : limit;
}

// The last row's own words are not to be cut.
static size_t rest_columns(const struct table *t)
{
  if (!tide_groups_rest(t->groups, t->n_shown).measure)
    return 0;
  TIDE_CLEANUP_FREE char *words =
      tide_cell_rest(t->screen, t->groups, t->n_shown, t->options->min_bytes);
  return tide_utf8_width(words);
}

static size_t widest_name(const struct table *t, size_t width)
{
  size_t widest = 0;
  for (size_t i = 0; i < t->n_shown; i++) {
    TIDE_CLEANUP_FREE char *name =
        tide_cell_group(t->screen, t->view, t->groups, &t->groups->items[i], width);
    widen_column(&widest, name);
  }
  return widest;
}

// Of locations without their directories.
static size_t widest_file(const struct table *t)
{
  size_t widest = 0;
  for (size_t i = 0; i < t->n_shown; i++) {
    const char *slash = strrchr(t->rows[i].location, '/');
    widen_column(&widest, slash ? slash + 1 : t->rows[i].location);
  }
  return widest;
}

// Columns for a drawing out of *left, if `words` are left for names and locations.
static size_t take_width(size_t *left, size_t words, size_t width)
{
  if (*left < words + width + 2)
    return 0;
  *left -= width + 2;
  return width;
}

// A drawing that is there gets wider where nobody wants the room.
static void widen_drawing(size_t *left, size_t words, size_t *width, size_t most)
{
  if (!*width || *left <= words)
    return;
  size_t more = at_most(*left - words, most - *width);
  *width += more;
  *left -= more;
}

static bool has_curves(const struct table *t)
{
  return t->groups->of_site && t->view->profile->image->n_snapshots >= SNAPSHOTS_LEAST;
}

// Where the one more column would leave too little for names it goes before anything else.
static void drop_extra(struct table *t)
{
  struct columns *c = &t->columns;
  size_t fixed = 2 + c->share + 2 + c->measure + 2 + c->extra + 2;
  size_t words = widest_name(t, t->screen->width) + 2 + c->location;
  if (t->screen->width < fixed + at_most(words, WORDS_LEAST))
    c->extra = 0;
}

// What names and drawings leave, if it is enough.
static void give_way(struct table *t, size_t left)
{
  size_t widest = 0;
  for (size_t i = 0; t->has_ways && i < t->n_shown; i++) {
    TIDE_CLEANUP_FREE char *way =
        tide_cell_ways(t->screen, t->view->naming, &t->rows[i].ways, t->screen->width);
    widen_column(&widest, way);
  }
  if (left >= at_most(widest, WAY_LEAST) + 2)
    t->columns.way = at_most(widest, left - 2);
}

// The name gets what the others leave. Where both do not fit, the location gives way first, down to
// two fifths.
static void share_out(struct table *t)
{
  struct columns *c = &t->columns;
  size_t fixed = 2 + c->share + 2 + c->measure + 2 + (c->extra ? c->extra + 2 : 0);
  size_t left = t->screen->width > fixed + NAME_LEAST ? t->screen->width - fixed : NAME_LEAST;
  size_t name = widest_name(t, t->screen->width), rest = rest_columns(t);
  if (left < NAME_AND_LOCATION_LEAST && left < name + 2 + widest_file(t))
    c->location = 0; // which line it is matters less than whose
  size_t words = at_least(name + (c->location ? 2 : 0) + c->location, rest);
  size_t shortened = at_least(name + 2 + at_most(c->location, LOCATION_LEAST), rest);
  c->bar = take_width(&left, at_most(shortened, WORDS_BESIDE_BAR), BAR_LEAST);
  if (has_curves(t))
    c->curve = take_width(&left, at_most(words, WORDS_BESIDE_CURVE), CURVE_LEAST);
  size_t way = t->has_ways ? 2 + WAY_LEAST : 0;
  widen_drawing(&left, words + way, &c->curve, CURVE_MOST);
  widen_drawing(&left, words + way, &c->bar, BAR_MOST);
  size_t spare = left > name + 2 ? left - name - 2 : 0;
  c->location = at_most(c->location, spare > left * 2 / 5 ? spare : left * 2 / 5);
  c->name = left - c->location - (c->location ? 2 : 0);
  c->name = widest_name(t, c->name); // no wider than needed: locations stand close to the names
  words = at_least(c->name + (c->location ? 2 : 0) + c->location, rest);
  give_way(t, left > words ? left - words : 0);
  words += c->way ? c->way + 2 : 0;
  widen_drawing(&left, words, &c->curve, CURVE_MOST); // what a name gave up by being shortened
  widen_drawing(&left, words, &c->bar, BAR_MOST);
}

// What the group's stacks held over time, or blanks for the row of the rest.
static void write_curve(const struct table *t, size_t group_idx)
{
  size_t width = t->columns.curve, n_times = t->timeline->n_times;
  const size_t *first = &t->groups->first[group_idx];
  TIDE_CLEANUP_FREE int64_t *values = tide_alloc_array(2 * (n_times + width), sizeof *values);
  int64_t *live = values, *kept = live + n_times, *highs = kept + n_times,
          *kept_highs = highs + width;
  tide_timeline_sum(t->timeline, t->groups->stacks + first[0], first[1] - first[0],
                    t->view->profile->question.unit, live, kept);
  tide_timeline_columns(t->timeline, live, width, highs);
  tide_timeline_columns(t->timeline, kept, width, kept_highs);
  tide_spark_kept(t->screen, highs, kept_highs, width);
  tide_sink_text(t->screen->sink, "  ");
}

// Where names begin.
static size_t words_at(const struct columns *c)
{
  return 2 + c->share + 2 + c->measure + 2 + (c->bar ? c->bar + 2 : 0) +
         (c->extra ? c->extra + 2 : 0) + (c->curve ? c->curve + 2 : 0);
}

// Beside the location or, where there is no room, below it.
static void write_way(const struct table *t, const struct row *row, size_t location_width)
{
  const struct tide_screen *screen = t->screen;
  const struct columns *c = &t->columns;
  size_t indent = 2 + c->share + 2 + c->measure + 2; // long names have room there
  size_t width = c->way ? c->way : screen->width > indent + 2 ? screen->width - indent - 2 : 0;
  TIDE_CLEANUP_FREE char *way = tide_cell_ways(screen, t->view->naming, &row->ways, width);
  if (c->way && *way)
    tide_sink_repeat(screen->sink, ' ', c->location - location_width + 2);
  if (c->way)
    tide_screen_ink(screen, TIDE_INK_FAINT, way);
  tide_sink_text(screen->sink, "\n");
  if (c->way || !*way)
    return;
  tide_sink_repeat(screen->sink, ' ', indent + 2);
  tide_screen_ink(screen, TIDE_INK_FAINT, way);
  tide_sink_text(screen->sink, "\n");
}

static void write_row(const struct table *t, const struct row *row, size_t group_idx,
                      int64_t measure, const char *name)
{
  const struct tide_screen *screen = t->screen;
  const struct columns *c = &t->columns;
  tide_sink_text(screen->sink, "  ");
  tide_screen_right(screen, TIDE_INK_PLAIN, row->share, c->share);
  tide_sink_text(screen->sink, "  ");
  tide_screen_right(screen, TIDE_INK_STRONG, row->measure, c->measure);
  tide_sink_text(screen->sink, "  ");
  if (c->bar) {
    TIDE_CLEANUP_FREE char *bar = tide_bar(measure, tide_view_all(t->view), c->bar, screen->utf8);
    tide_screen_left(screen, TIDE_INK_CURVE, bar, c->bar + 2);
  }
  if (c->extra) {
    tide_screen_right(screen, TIDE_INK_PLAIN, row->extra, c->extra);
    tide_sink_text(screen->sink, "  ");
  }
  if (c->curve && group_idx < t->n_shown)
    write_curve(t, group_idx);
  else if (c->curve)
    tide_sink_repeat(screen->sink, ' ', c->curve + 2);
  TIDE_CLEANUP_FREE char *location =
      tide_shorten_location(row->location, c->location, screen->utf8);
  if (*location) {
    tide_screen_left(screen, TIDE_INK_PLAIN, name, c->name + 2);
    tide_screen_ink(screen, TIDE_INK_FAINT, location);
  } else if (words_at(c) + tide_utf8_width(name) <= screen->width) {
    tide_sink_text(screen->sink, name);
  } else { // that of the rest: our own words, not to be cut
    tide_screen_wrap(screen, words_at(c), name);
    return;
  }
  write_way(t, row, tide_utf8_width(location));
}

static struct row make_row(const struct table *t, const struct tide_group *group)
{
  char text[TIDE_UNITS_MAX];
  const struct tide_profile *profile = t->view->profile;
  struct tide_amount amount =
      tide_question_estimate(profile->image, &profile->question, group->measure, &group->numbers);
  return (struct row){
      .share = tide_strdup(
          tide_units_share(text, amount, tide_view_all(t->view), tide_screen_cells(t->screen))),
      .measure = tide_cell_measure(t->screen, &profile->question, amount),
  };
}

static void row_done(struct row *row)
{
  free(row->share);
  free(row->measure);
  free(row->extra);
  free(row->location);
}

static void make_rows(struct table *t)
{
  struct columns *c = &t->columns;
  t->rows = tide_alloc_array(t->n_shown + 1, sizeof *t->rows);
  for (size_t i = 0; i < t->n_shown; i++) {
    const struct tide_group *group = &t->groups->items[i];
    struct row *row = &t->rows[i];
    *row = make_row(t, group);
    row->extra = tide_cell_extra(t->screen, t->view->profile, t->groups->kind, group);
    row->location = tide_cell_group_location(t->view, t->groups, group);
    row->ways = tide_groups_ways(t->groups, t->view, i);
    t->has_ways |= row->ways.via.frame || row->ways.caller.frame;
    widen_column(&c->share, row->share);
    widen_column(&c->measure, row->measure);
    widen_column(&c->extra, row->extra);
    widen_column(&c->location, row->location);
  }
  struct tide_group rest = tide_groups_rest(t->groups, t->n_shown);
  struct row last = make_row(t, &rest);
  widen_column(&c->share, last.share);
  widen_column(&c->measure, last.measure);
  row_done(&last);
}

// What is not in the rows above: groups past the last row, and stacks too small to be gathered.
static void write_rest(const struct table *t)
{
  struct tide_group rest = tide_groups_rest(t->groups, t->n_shown);
  if (rest.measure == 0)
    return;
  struct row row = make_row(t, &rest);
  row.extra = tide_strdup("");
  row.location = tide_strdup("");
  TIDE_CLEANUP_FREE char *name =
      tide_cell_rest(t->screen, t->groups, t->n_shown, t->options->min_bytes);
  write_row(t, &row, t->n_shown, rest.measure, name);
  row_done(&row);
}

// What a mapping is of: its file, or the name that the program gave it.
static void write_mapped_name(const struct table *t, const struct tide_group *group)
{
  const struct tide_screen *screen = t->screen;
  const char *name = tide_pages_name(t->view->profile, group);
  size_t indent = 2 + t->columns.share + 2 + t->columns.measure + 4;
  if (!name)
    return;
  tide_sink_repeat(screen->sink, ' ', indent);
  TIDE_CLEANUP_FREE char *words = tide_sprintf("of %s", name);
  tide_screen_wrap(screen, indent, words);
}

// How it came to hold what it holds.
static void write_growth(const struct table *t, size_t group_idx)
{
  const struct tide_screen *screen = t->screen;
  const struct tide_image *image = t->view->profile->image;
  size_t indent = 2 + t->columns.share + 2 + t->columns.measure + 4;
  struct tide_growth growth;
  tide_groups_growth(t->groups, image, group_idx, &growth);
  TIDE_CLEANUP_FREE char *words = tide_growth_words(&growth, image, tide_screen_style(screen));
  tide_growth_done(&growth);
  if (!words)
    return;
  TIDE_CLEANUP_FREE char *text = tide_sprintf("grew %s", words);
  tide_sink_repeat(screen->sink, ' ', indent);
  tide_screen_wrap(screen, indent, text);
}

static void write_groups(struct table *t)
{
  for (size_t i = 0; i < t->n_shown; i++) {
    const struct tide_group *group = &t->groups->items[i];
    TIDE_CLEANUP_FREE char *name =
        tide_cell_group(t->screen, t->view, t->groups, group, t->columns.name);
    write_row(t, &t->rows[i], i, group->measure, name);
    row_done(&t->rows[i]);
    if (t->view->profile->question.of_pages) {
      write_mapped_name(t, group);
      write_growth(t, i);
    }
    if (t->options->details)
      tide_details_write(t->screen, t->view, t->groups, i);
    if (t->options->n_stacks)
      tide_stacks_write(t->screen, t->view, t->groups, i, t->options);
  }
  free(t->rows);
  write_rest(t);
}

// "46.2 %, 190.7 MiB of 412.6 MiB, matched --function push": each stack counted once.
static void write_matched(const struct table *t)
{
  char share[TIDE_UNITS_MAX];
  const struct tide_view *view = t->view;
  if (!t->options->filters)
    return;
  const struct tide_question *question = &view->profile->question;
  int64_t of = tide_view_all(view);
  struct tide_amount amount = tide_profile_amount(view->profile, view->wanted);
  TIDE_CLEANUP_FREE char *wanted = tide_cell_measure(t->screen, question, amount);
  TIDE_CLEANUP_FREE char *whole =
      tide_cell_measure(t->screen, question, tide_amount_like(amount, of));
  TIDE_CLEANUP_FREE char *words = tide_sprintf(
      "%s, %s of %s, matched %s", tide_units_share(share, amount, of, tide_screen_cells(t->screen)),
      wanted, whole, t->options->filters);
  tide_screen_paragraph(t->screen, TIDE_INK_PLAIN, "  ", "", words);
}

// What a heading says of a column that is not there goes, too.
static void cut_parenthesis(char *heading)
{
  char *open = strchr(heading, '('), *close = strchr(heading, ')');
  if (open && close > open && open > heading)
    memmove(open - 1, close + 1, strlen(close + 1) + 1);
}

// With what the curves are, if there are any and the line has room.
static void write_heading(const struct table *t)
{
  const struct tide_screen *screen = t->screen;
  const struct tide_question *question = &t->view->profile->question;
  TIDE_CLEANUP_FREE char *heading = tide_groups_heading(screen, question, t->groups);
  const char *over_time =
      question->of_pages ? "mapped from start to end" : tide_term_hint(TIDE_TERM_OVER_TIME);
  TIDE_CLEANUP_FREE char *legend =
      t->view->profile->image->lacks & TIDE_LACK_LIVE
          ? tide_sprintf("  %s", over_time)
          : tide_sprintf("  %s; %s %s", over_time, tide_spark_kept_mark(screen),
                         question->of_pages  ? "never unmapped"
                         : question->goes_on ? "still live"
                                             : "never freed");
  if (!t->columns.extra && tide_extra_title(question, t->groups->kind) && t->n_shown)
    cut_parenthesis(heading);
  size_t width = 2 + tide_utf8_width(heading);
  if (width > screen->width) {
    tide_screen_paragraph(screen, TIDE_INK_PLAIN, "  ", "", heading);
    return;
  }
  tide_sink_printf(screen->sink, "  %s", heading);
  if (t->columns.curve && t->n_shown && width + tide_utf8_width(legend) <= screen->width)
    tide_screen_ink(screen, TIDE_INK_FAINT, legend);
  tide_sink_text(screen->sink, "\n");
}

static void write_wrappers(const struct table *t)
{
  TIDE_CLEANUP_FREE char *words =
      tide_wrappers_words(t->view->naming, tide_screen_style(t->screen));
  const char *way = tide_screen_hint(t->screen, TIDE_HINT_ALL_FRAMES);
  if (!words)
    return;
  TIDE_CLEANUP_FREE char *text = tide_sprintf("%s; %s%sa rule \"own function NAME\" keeps one",
                                              words, way ? way : "", way ? ", and " : "");
  tide_screen_paragraph(t->screen, TIDE_INK_FAINT, "  ", "wrappers: ", text);
}

void tide_report_table_write(const struct tide_screen *screen, struct tide_view *view,
                             struct tide_groups *groups, const struct tide_report_options *options)
{
  struct table t = {.screen = screen, .view = view, .groups = groups, .options = options};
  t.n_shown = tide_groups_shown(groups, options->n_rows, options->min_bytes);
  t.columns.share = 7;
  make_rows(&t);
  drop_extra(&t);
  share_out(&t);
  if (t.columns.curve)
    t.timeline = tide_timeline_new(view->profile->image, groups->stacks,
                                   groups->first ? groups->first[t.n_shown] : 0);
  write_matched(&t);
  if (!options->filters || view->wanted)
    write_heading(&t);
  write_groups(&t);
  write_wrappers(&t);
  if (view->profile->question.of_pages)
    tide_pages_bounds_write(screen, view);
  tide_report_leaks_write(screen, view, groups, options);
  tide_timeline_free(t.timeline);
}
