// SPDX-License-Identifier: Apache-2.0
//
// The screen, from the top down:
//
//   tidemark top · redis-server (process 4711) · attached · 12.3 s            paused
//   live 12.3 MiB in 4,211 blocks · peak 14.0 MiB · RSS 20.1 MiB · 12,100 calls a second
//   20.1 MiB ┤──────────────── the graph: live as bars, RSS as a line
//   the list, a tree, or the help
//   what was said last, or what is typed
//   the keys
//
// On a small screen the graph goes first, then columns of the list, then keys.
#include "base/alloc.h"
#include "base/utf8.h"
#include "model/image_sums.h"
#include "report/report_cells.h"
#include "top/top_inside.h"
#include "words/image_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

enum {
  ROWS_LEAST = 5,
  COLUMNS_LEAST = 20,
  NAME_FROM = 60,   // columns of the screen from which on it has room for our own name
  PROMPT_FROM = 74, // and for whole questions
  AXIS = 11,        // columns for the graph's scale
  MEASURE = 11,     // for a number of bytes
  SHARE = 8,        // "100.0 %"
  BLOCKS = 12,      // "16,204"
  SINCE = 12,       // "+412.6 MiB"
  BLOCKS_FROM = 60, // columns of the screen from which on there is such a column
  SINCE_FROM = 50,
  LOCATION_FROM = 64,
  MARK = 2,    // "≈ " before an estimate
  SPREAD = 13, // " ± 966.0 KiB" behind it
  SPREAD_FROM = 74,
  BLOCKS_OF_SAMPLES_FROM = 100,
  BLOCKS_SPREAD = 10, // " ± 16,204"
  BLOCKS_SPREAD_FROM = 120,
  SINCE_SPREAD_FROM = 140,
  NAME_PERCENT = 54, // of the room for names is the function's, where there is a location
};

struct drawing {
  struct tide_top *top;
  struct tide_canvas *canvas;
  struct tide_screen screen;
};

static const char *sign_of(const struct drawing *d, const char *utf8, const char *ascii)
{
  return d->top->options.utf8 ? utf8 : ascii;
}

static bool is_of_samples(const struct drawing *d)
{
  return d->top->profile && d->top->profile->image->sampled_every_bytes;
}

// For a column that has no room for its standard error.
static struct tide_amount without_spread(struct tide_amount amount)
{
  if (amount.exactness == TIDE_ESTIMATED)
    amount.bound = 0;
  return amount;
}

// Pieces of a line with dots between them, as many whole ones as there is room for.
static size_t put_pieces(const struct drawing *d, size_t row, size_t past, enum tide_ink ink,
                         char *const *pieces, size_t n)
{
  const char *dot = tide_screen_dot(&d->screen);
  size_t column = 1;
  for (size_t i = 0; i < n; i++) {
    size_t gap = column > 1 ? tide_utf8_width(dot) : 0;
    if (!pieces[i] || !*pieces[i])
      continue;
    bool has_room = column + gap + tide_utf8_width(pieces[i]) <= past;
    if (!has_room && column > 1)
      break;
    if (gap)
      column = tide_canvas_put_within(d->canvas, row, column, past, TIDE_INK_FAINT, dot);
    column = tide_canvas_put_within(d->canvas, row, column, past, gap ? ink : TIDE_INK_STRONG,
                                    pieces[i]);
  }
  return column;
}

static void free_pieces(char **pieces, size_t n)
{
  for (size_t i = 0; i < n; i++)
    free(pieces[i]);
}

// ---- the two lines at the top ----

static const char *state_of(const struct tide_top *top)
{
  return top->is_paused ? "paused" : top->ended ? "ended" : top->options.is_static ? "" : "live";
}

static void draw_title(const struct drawing *d)
{
  const struct tide_top *top = d->top;
  const struct tide_image *image = top->profile ? top->profile->image : NULL;
  const struct tide_top_sample *last = tide_top_history_last(&top->history);
  char time[TIDE_UNITS_MAX];
  uint64_t start_ns = image ? image->start_ns : 0;
  char *pieces[] = {
      d->canvas->n_columns >= NAME_FROM || !image ? tide_strdup("tidemark top") : NULL,
      image ? tide_image_process_words(image) : NULL,
      tide_strdup(top->options.how),
      last && last->time_ns > start_ns
          ? tide_strdup(tide_units_time(time, last->time_ns - start_ns, d->screen.utf8))
          : NULL,
      top->ended ? tide_strdup(top->ended) : NULL,
  };
  enum { N = sizeof pieces / sizeof *pieces };
  const char *state = state_of(top);
  size_t room = d->canvas->n_columns - (*state ? strlen(state) + 2 : 0);
  put_pieces(d, 0, room, TIDE_INK_PLAIN, pieces, N);
  tide_canvas_put_right(d->canvas, 0, d->canvas->n_columns - 1,
                        top->is_paused ? TIDE_INK_WARN : TIDE_INK_FAINT, state);
  free_pieces(pieces, N);
}

// Of what runs on, live is what it is now.
static const char *measure_heading(const struct tide_top *top)
{
  const struct tide_question *question = &top->profile->question;
  bool is_now = question->measure == TIDE_MEASURE_LIVE && !top->options.is_static && !top->ended;
  return is_now ? "live" : tide_question_text(question).measure;
}

static char *live_words(const struct drawing *d)
{
  const struct tide_profile *profile = d->top->profile;
  char bytes[TIDE_UNITS_MAX], blocks[TIDE_UNITS_MAX];
  const struct tide_style style = tide_screen_cells(&d->screen);
  tide_units_bytes(bytes, tide_profile_live(profile, TIDE_UNIT_BYTES), style);
  tide_units_count(blocks, tide_profile_live(profile, TIDE_UNIT_BLOCKS), style);
  size_t from = is_of_samples(d) ? BLOCKS_OF_SAMPLES_FROM : NAME_FROM;
  return d->canvas->n_columns < from ? tide_sprintf("live %s", bytes)
                                     : tide_sprintf("live %s in %s blocks", bytes, blocks);
}

static char *samples_words(const struct drawing *d)
{
  char every[TIDE_UNITS_MAX];
  uint64_t bytes = d->top->profile->image->sampled_every_bytes;
  if (bytes <= TIDE_SAMPLED_SOMEHOW)
    return NULL;
  return tide_sprintf("one sample for %s", tide_units_bytes(every, tide_exact((int64_t)bytes),
                                                            tide_screen_cells(&d->screen)));
}

static char *peak_words(const struct drawing *d)
{
  char bytes[TIDE_UNITS_MAX];
  return tide_sprintf("peak %s", tide_units_bytes(bytes, tide_image_peak(d->top->profile->image),
                                                  tide_screen_cells(&d->screen)));
}

static char *rss_words(const struct drawing *d)
{
  const struct tide_top_sample *last = tide_top_history_last(&d->top->history);
  char bytes[TIDE_UNITS_MAX];
  if (!last || !last->rss_bytes)
    return NULL;
  return tide_sprintf("RSS %s", tide_units_bytes(bytes, tide_exact((int64_t)last->rss_bytes),
                                                 tide_screen_cells(&d->screen)));
}

// Of what was live when the numbers were reset.
static char *reset_words(const struct drawing *d)
{
  const struct tide_profile *profile = d->top->profile;
  char bytes[TIDE_UNITS_MAX];
  if (!profile->image->is_reset)
    return NULL;
  struct tide_amount before =
      tide_image_bytes(profile->image, TIDE_FIGURE_LIVE, profile->totals.before_bytes);
  return tide_sprintf("since a reset at %s",
                      tide_units_bytes(bytes, before, tide_screen_cells(&d->screen)));
}

static char *calls_words(const struct drawing *d)
{
  const struct tide_top *top = d->top;
  char n[TIDE_UNITS_MAX];
  if (top->calls_per_s < 0 || top->options.is_static || top->ended)
    return NULL;
  return tide_sprintf("%s calls a second",
                      tide_units_count(n,
                                       tide_image_blocks(top->profile->image, TIDE_FIGURE_ALLOCATED,
                                                         (int64_t)top->calls_per_s),
                                       tide_screen_cells(&d->screen)));
}

static void draw_summary(const struct drawing *d)
{
  if (!d->top->profile) {
    tide_canvas_put(d->canvas, 1, 1, TIDE_INK_FAINT,
                    d->top->ended ? "nothing was recorded" : "nothing was recorded yet");
    return;
  }
  // What has no room is left out from the end: what the rest is to be read by comes early.
  char *pieces[] = {live_words(d), reset_words(d), samples_words(d),
                    rss_words(d),  peak_words(d),  calls_words(d)};
  enum { N = sizeof pieces / sizeof *pieces };
  put_pieces(d, 1, d->canvas->n_columns, TIDE_INK_PLAIN, pieces, N);
  free_pieces(pieces, N);
}

// ---- the graph ----

static size_t graph_rows(size_t n_rows)
{
  return n_rows >= 40 ? 10 : n_rows >= 24 ? 6 : n_rows >= 16 ? 4 : n_rows >= 10 ? 2 : 0;
}

static uint64_t highest_of(const struct tide_top_column *columns, size_t n)
{
  uint64_t most = 1;
  for (size_t i = 0; i < n; i++) {
    uint64_t live = columns[i].live_bytes > 0 ? (uint64_t)columns[i].live_bytes : 0;
    most = live > most ? live : most;
    most = columns[i].rss_bytes > most ? columns[i].rss_bytes : most;
  }
  return most;
}

static const char *bar_of(const struct drawing *d, uint64_t eighths)
{
  static const char *const bars[] = {"", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  eighths = eighths > 8 ? 8 : eighths;
  return d->top->options.utf8 ? bars[eighths] : eighths >= 4 ? "#" : eighths ? "." : "";
}

static void draw_column(const struct drawing *d, size_t top_row, size_t height, size_t column,
                        const struct tide_top_column *shown, uint64_t most)
{
  double scale = (double)height * 8 / (double)most;
  uint64_t live = shown->live_bytes > 0 ? (uint64_t)((double)shown->live_bytes * scale) : 0;
  live += !live && shown->live_bytes > 0; // what there is shows
  uint64_t rss = (uint64_t)((double)shown->rss_bytes * scale);
  size_t rss_level = rss ? (size_t)((rss - 1) / 8) : 0;
  for (size_t level = 0; level < height; level++) {
    size_t row = top_row + height - 1 - level;
    uint64_t left = live > level * 8 ? live - level * 8 : 0;
    if (left)
      tide_canvas_put(d->canvas, row, column, TIDE_INK_CURVE, bar_of(d, left));
    else if (shown->rss_bytes && level == rss_level)
      tide_canvas_put(d->canvas, row, column, TIDE_INK_PLAIN, sign_of(d, "─", "-"));
  }
}

static void draw_own_mark(const struct drawing *d, size_t top_row, size_t column,
                          const struct tide_top_column *shown)
{
  char digit[2] = {(char)('0' + shown->mark % 10), 0};
  if (shown->mark)
    tide_canvas_put(d->canvas, top_row, column, TIDE_INK_WARN, digit);
}

static void draw_scale(const struct drawing *d, size_t top_row, size_t height, uint64_t most)
{
  char bytes[TIDE_UNITS_MAX];
  tide_canvas_put_right(
      d->canvas, top_row, AXIS - 1, TIDE_INK_FAINT,
      tide_units_bytes(bytes, tide_exact((int64_t)most), tide_screen_cells(&d->screen)));
  if (height > 2)
    tide_canvas_put_right(d->canvas, top_row + 1, AXIS - 1, TIDE_INK_CURVE,
                          sign_of(d, "█ live", "# live"));
  if (height > 3)
    tide_canvas_put_right(d->canvas, top_row + 2, AXIS - 1, TIDE_INK_FAINT,
                          sign_of(d, "─ RSS ", "- RSS "));
  tide_canvas_put_right(d->canvas, top_row + height - 1, AXIS - 1, TIDE_INK_FAINT, "0");
}

// Which of n columns a moment is in; n: it is before the first.
static size_t column_of(uint64_t time_ns, uint64_t end_ns, uint64_t step_ns, size_t n)
{
  uint64_t back = end_ns > time_ns ? (end_ns - time_ns) / step_ns : 0;
  return back < n ? n - 1 - (size_t)back : n;
}

// Marks of the recording, in the top row: a sign, and the name behind it, where there is room up to
// the next one, or else before it. The screen's own marks are drawn later, over them.
static void draw_moments(const struct drawing *d, size_t row, uint64_t end_ns, uint64_t step_ns,
                         size_t n)
{
  const struct tide_image *image = d->top->profile ? d->top->profile->image : NULL;
  size_t taken = 0; // columns that names and signs have
  for (size_t i = 0; image && i < image->n_marks; i++) {
    const char *name = image->marks[i].name;
    size_t at = column_of(image->marks[i].time_ns, end_ns, step_ns, n), width;
    size_t next =
        i + 1 < image->n_marks ? column_of(image->marks[i + 1].time_ns, end_ns, step_ns, n) : n;
    if (at == n || at < taken)
      continue;
    tide_canvas_put(d->canvas, row, AXIS + at, TIDE_INK_WARN, sign_of(d, "▾", "v"));
    width = tide_utf8_width(name);
    bool fits_before = at >= taken + width;
    taken = at + 1;
    if (at + 1 + width <= next) {
      tide_canvas_put(d->canvas, row, AXIS + at + 1, TIDE_INK_WARN, name);
      taken += width;
    } else if (fits_before) {
      tide_canvas_put(d->canvas, row, AXIS + at - width, TIDE_INK_WARN, name);
    }
  }
}

// A second a column or, of a run that is over from the start, all of it.
static void draw_graph(const struct drawing *d, size_t top_row, size_t height)
{
  const struct tide_top *top = d->top;
  const struct tide_top_sample *last = tide_top_history_last(&top->history);
  if (!height || !last || d->canvas->n_columns <= AXIS + 1)
    return;
  size_t n = d->canvas->n_columns - AXIS - 1;
  uint64_t step_ns = SECOND_NS, end_ns = last->time_ns;
  if (top->options.is_static) {
    uint64_t start_ns = top->profile ? top->profile->image->start_ns : 0;
    step_ns = end_ns > start_ns ? (end_ns - start_ns) / n + 1 : 1;
  }
  struct tide_top_column *columns = tide_alloc_array(n, sizeof *columns);
  tide_top_history_columns(&top->history, end_ns, step_ns, n, columns);
  uint64_t most = highest_of(columns, n);
  draw_scale(d, top_row, height, most);
  for (size_t i = 0; i < n; i++)
    if (columns[i].is_known)
      draw_column(d, top_row, height, AXIS + i, &columns[i], most);
  draw_moments(d, top_row, end_ns, step_ns, n);
  for (size_t i = 0; i < n; i++)
    draw_own_mark(d, top_row, AXIS + i, &columns[i]);
  free(columns);
}

// ---- the list ----

struct list_columns { // where each ends; 0: there is none
  size_t measure, share, blocks, since, name, location;
};

static struct list_columns list_columns_of(const struct drawing *d)
{
  size_t width = d->canvas->n_columns, mark = is_of_samples(d) ? MARK : 0;
  size_t at = MEASURE + mark + (mark && width >= SPREAD_FROM ? SPREAD : 0);
  struct list_columns c = {.measure = at};
  if (width >= COLUMNS_LEAST * 2)
    c.share = at += SHARE + mark;
  if (width >= (mark ? BLOCKS_OF_SAMPLES_FROM : BLOCKS_FROM))
    c.blocks = at += BLOCKS + mark + (mark && width >= BLOCKS_SPREAD_FROM ? BLOCKS_SPREAD : 0);
  if (d->top->n_marks && width >= SINCE_FROM)
    c.since = at += SINCE + mark + (mark && width >= SINCE_SPREAD_FROM ? SPREAD : 0);
  size_t room = width > at + 3 ? width - at - 3 : 0;
  c.name = at + 2 + (width >= LOCATION_FROM ? room * NAME_PERCENT / 100 : room);
  if (width >= LOCATION_FROM)
    c.location = width - 1;
  return c;
}

static void draw_heading(const struct drawing *d, size_t row, const struct list_columns *c)
{
  const struct tide_top *top = d->top;
  TIDE_CLEANUP_FREE char *where = top->pattern
                                      ? tide_sprintf("where, of stacks with /%s/", top->pattern)
                                      : tide_strdup("where");
  tide_canvas_put_right(d->canvas, row, c->measure, TIDE_INK_STRONG, measure_heading(top));
  if (c->share)
    tide_canvas_put_right(d->canvas, row, c->share, TIDE_INK_FAINT, "share");
  if (c->blocks)
    tide_canvas_put_right(d->canvas, row, c->blocks, TIDE_INK_FAINT, "live blocks");
  if (c->since)
    tide_canvas_put_right(d->canvas, row, c->since, TIDE_INK_FAINT, "since mark");
  size_t at = c->since ? c->since : c->blocks ? c->blocks : c->share ? c->share : c->measure;
  tide_canvas_put(d->canvas, row, at + 2, TIDE_INK_FAINT, where);
}

// What came since the mark and what went are samples of their own, of those that there are now and
// that there were then: the error is at most that of both.
static void draw_since(const struct drawing *d, size_t row, size_t past,
                       const struct tide_group *group)
{
  char bytes[TIDE_UNITS_MAX];
  const struct tide_top_base base = tide_top_base_of(d->top, tide_top_place_key(d->top, group));
  int64_t gained = group->live_bytes - base.live_bytes;
  if (!gained)
    return;
  const struct tide_image *image = d->top->profile->image;
  struct tide_amount amount = without_spread(tide_image_bytes(image, TIDE_FIGURE_LIVE, gained));
  if (d->canvas->n_columns >= SINCE_SPREAD_FROM)
    amount = tide_with_error(
        amount, image,
        tide_error_of_bytes(group->numbers.live_bytes_spread + base.live_bytes_spread));
  tide_units_bytes(bytes, amount, tide_screen_cells(&d->screen));
  TIDE_CLEANUP_FREE char *text = tide_sprintf("%s%s", gained > 0 ? "+" : "", bytes);
  tide_canvas_put_right(d->canvas, row, past, gained > 0 ? TIDE_INK_MORE : TIDE_INK_LESS, text);
}

static void draw_names(const struct drawing *d, size_t row, const struct list_columns *c, size_t at,
                       const struct tide_group *group)
{
  const struct tide_top *top = d->top;
  size_t room = c->name > at ? c->name - at : 1;
  TIDE_CLEANUP_FREE char *name = tide_cell_group(&d->screen, &top->view, top->groups, group, room);
  tide_canvas_put_within(d->canvas, row, at, c->name, TIDE_INK_PLAIN, name);
  if (!c->location || c->location <= c->name + 1)
    return;
  TIDE_CLEANUP_FREE char *path = tide_cell_group_location(&top->view, top->groups, group);
  TIDE_CLEANUP_FREE char *fitting =
      path ? tide_utf8_fit(path, c->location - c->name - 1, d->screen.utf8) : NULL;
  if (fitting)
    tide_canvas_put(d->canvas, row, c->name + 1, TIDE_INK_FAINT, fitting);
}

static void draw_place(const struct drawing *d, size_t row, const struct list_columns *c, size_t i)
{
  const struct tide_top *top = d->top;
  const struct tide_group *group = &top->groups->items[i];
  const struct tide_profile *profile = top->profile;
  const struct tide_amount amount =
      tide_question_estimate(profile->image, &profile->question, group->measure, &group->numbers);
  char share[TIDE_UNITS_MAX], blocks[TIDE_UNITS_MAX];
  size_t at = c->measure;
  bool has_room = c->measure > MEASURE + MARK;
  TIDE_CLEANUP_FREE char *measure =
      tide_cell_measure(&d->screen, &profile->question, has_room ? amount : without_spread(amount));
  tide_canvas_put_right(d->canvas, row, c->measure, TIDE_INK_STRONG, measure);
  if (c->share) {
    tide_units_share(share, amount, tide_view_all(&top->view), tide_screen_cells(&d->screen));
    tide_canvas_put_right(d->canvas, row, at = c->share, TIDE_INK_PLAIN, share);
  }
  if (c->blocks) {
    struct tide_amount n = tide_image_blocks(profile->image, TIDE_FIGURE_LIVE, group->live_blocks);
    if (d->canvas->n_columns >= BLOCKS_SPREAD_FROM)
      n = tide_with_error(n, profile->image,
                          tide_error_of_blocks(group->numbers.live_blocks_spread));
    tide_units_count(blocks, n, tide_screen_cells(&d->screen));
    tide_canvas_put_right(d->canvas, row, at = c->blocks, TIDE_INK_PLAIN, blocks);
  }
  if (c->since)
    draw_since(d, row, at = c->since, group);
  draw_names(d, row, c, at + 2, group);
  if (i == top->chosen)
    tide_canvas_choose(d->canvas, row);
}

static void draw_list(const struct drawing *d, size_t top_row, size_t n_rows)
{
  struct tide_top *top = d->top;
  if (!top->groups || n_rows < 2)
    return;
  const struct list_columns c = list_columns_of(d);
  size_t room = n_rows - 1, n = top->groups->n;
  draw_heading(d, top_row, &c);
  if (!n) {
    const struct tide_question_text text = tide_question_text(&top->profile->question);
    tide_canvas_put(d->canvas, top_row + 1, 1, TIDE_INK_FAINT,
                    top->pattern ? "no stack has a function like that" : text.nothing);
    return;
  }
  if (top->chosen < top->first)
    top->first = top->chosen;
  if (top->chosen >= top->first + room)
    top->first = top->chosen - room + 1;
  if (top->first + room > n) // a list that became shorter fills the screen
    top->first = n > room ? n - room : 0;
  for (size_t i = 0; i < room && top->first + i < n; i++)
    draw_place(d, top_row + 1 + i, &c, top->first + i);
}

// ---- the tree and the help ----

static void draw_lines(const struct drawing *d, size_t top_row, size_t n_rows, char *const *lines,
                       size_t n, size_t *first)
{
  size_t furthest = n > n_rows ? n - n_rows : 0;
  *first = *first > furthest ? furthest : *first;
  for (size_t i = 0; i < n_rows && *first + i < n; i++)
    tide_canvas_put(d->canvas, top_row + i, 0, *first + i ? TIDE_INK_PLAIN : TIDE_INK_STRONG,
                    lines[*first + i]);
}

static void draw_tree(const struct drawing *d, size_t top_row, size_t n_rows)
{
  struct tide_top *top = d->top;
  tide_top_write_tree(top, d->canvas->n_columns);
  if (top->n_tree)
    draw_lines(d, top_row, n_rows, top->tree, top->n_tree, &top->tree_first);
  else
    tide_canvas_put(d->canvas, top_row, 1, TIDE_INK_FAINT, "the place holds nothing any more");
}

static const char *const help_lines[] = {
    "q, Ctrl-C   quit",
    "up, down    choose a place (also k, j, Page Up, Page Down, Home, End)",
    "Enter       the tree of the chosen place: who calls it; Esc goes back",
    "s, < >      sort: live, peak, total, count, temp, leak, grown",
    "b           by bytes or by blocks",
    "/           only stacks with a function like a regular expression",
    "p           pause: what is shown stays; the program does not notice",
    "m           mark this moment: in the graph, with what places gained since.",
    "            A mark is this screen's own, and in the names of dumps; the",
    "            capture does not hold it. Marks of tidemark ctl have their names",
    "d           dump: write all that was recorded so far to a file of its own",
    "graph       bars are live bytes of the heap, the line is RSS; a second a",
    "            column, of a finished capture the whole run",
};

static void draw_help(const struct drawing *d, size_t top_row, size_t n_rows)
{
  size_t n = sizeof help_lines / sizeof *help_lines, row = top_row;
  struct tide_sink sink;
  tide_sink_init(&sink, NULL);
  struct tide_screen screen = tide_top_screen(d->top, &sink, d->canvas->n_columns);
  tide_sink_text(&sink, " ");
  tide_screen_wrap(&screen, 1, d->top->options.quits);
  for (const char *text = tide_buf_cstr(&sink.buf); *text && row < top_row + n_rows;) {
    size_t length = strcspn(text, "\n");
    TIDE_CLEANUP_FREE char *line = tide_strndup(text, length);
    tide_canvas_put(d->canvas, row++, 0, TIDE_INK_STRONG, line);
    text += length + (text[length] == '\n');
  }
  for (size_t i = 0; i < n && row < top_row + n_rows; i++, row++)
    tide_canvas_put(d->canvas, row, 1, TIDE_INK_PLAIN, help_lines[i]);
  tide_sink_done(&sink);
}

// ---- the two lines at the bottom ----

static void draw_message(const struct drawing *d, size_t row)
{
  const struct tide_top *top = d->top;
  bool is_narrow = d->canvas->n_columns < PROMPT_FROM;
  switch (top->mode) {
  case TIDE_TOP_FILTER: {
    size_t at = tide_canvas_put(d->canvas, row, 1, TIDE_INK_STRONG, "filter /");
    at = tide_canvas_put(d->canvas, row, at, TIDE_INK_PLAIN, top->typed);
    d->canvas->has_cursor = true;
    d->canvas->cursor_row = row;
    d->canvas->cursor_column = at < d->canvas->n_columns ? at : d->canvas->n_columns - 1;
    tide_canvas_put(d->canvas, row, at + 2, TIDE_INK_WARN, top->message);
    break;
  }
  case TIDE_TOP_SORT:
    tide_canvas_put(d->canvas, row, 1, TIDE_INK_STRONG,
                    is_narrow ? "l live p peak t total c count e temp k leak g grown"
                              : "sort by: l live  p peak  t total  c count  e temp  k leak  g "
                                "grown");
    break;
  case TIDE_TOP_QUIT:
    tide_canvas_put(d->canvas, row, 1, TIDE_INK_WARN,
                    is_narrow ? "it runs: w wait, e end it, else: stay"
                              : "the command runs: w wait for it, e end it (SIGTERM), other keys: "
                                "stay");
    break;
  case TIDE_TOP_LIST:
  case TIDE_TOP_TREE:
  case TIDE_TOP_HELP: tide_canvas_put(d->canvas, row, 1, TIDE_INK_WARN, top->message);
  }
}

static const struct {
  const char *utf8, *ascii, *does;
} foot_keys[] = {{"q", "q", "quit"},        {"?", "?", "help"},   {"⏎", "Enter", "tree"},
                 {"↑↓", "j k", "choose"},   {"/", "/", "filter"}, {"s", "s", "sort"},
                 {"p", "p", "pause"},       {"m", "m", "mark"},   {"d", "d", "dump"},
                 {"b", "b", "bytes/blocks"}};

static void draw_keys(const struct drawing *d, size_t row)
{
  size_t column = 1;
  for (size_t i = 0; i < sizeof foot_keys / sizeof *foot_keys; i++) {
    const char *key = sign_of(d, foot_keys[i].utf8, foot_keys[i].ascii);
    const char *does = d->top->mode == TIDE_TOP_TREE && i == 2 ? "back" : foot_keys[i].does;
    size_t width = tide_utf8_width(key) + 1 + strlen(does);
    if (column + width > d->canvas->n_columns)
      break;
    column = tide_canvas_put(d->canvas, row, column, TIDE_INK_STRONG, key);
    column = tide_canvas_put(d->canvas, row, column + 1, TIDE_INK_FAINT, does) + 2;
  }
}

void tide_top_draw(struct tide_top *top, struct tide_canvas *canvas)
{
  struct drawing d = {top, canvas, tide_top_screen(top, NULL, canvas->n_columns)};
  size_t n_rows = canvas->n_rows, n_graph = graph_rows(n_rows);
  tide_canvas_clear(canvas, n_rows, canvas->n_columns);
  if (n_rows < ROWS_LEAST || canvas->n_columns < COLUMNS_LEAST) {
    tide_canvas_put(canvas, 0, 0, TIDE_INK_PLAIN, "too small");
    return;
  }
  draw_title(&d);
  draw_summary(&d);
  if (top->mode == TIDE_TOP_HELP)
    n_graph = 0;
  draw_graph(&d, 2, n_graph);
  size_t from = 2 + n_graph, room = n_rows - 2 - from;
  top->page_rows = room;
  if (top->mode == TIDE_TOP_HELP)
    draw_help(&d, from, room);
  else if (top->mode == TIDE_TOP_TREE)
    draw_tree(&d, from, room);
  else
    draw_list(&d, from, room);
  draw_message(&d, n_rows - 2);
  draw_keys(&d, n_rows - 1);
}
