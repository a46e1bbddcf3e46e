// SPDX-License-Identifier: Apache-2.0
//
// The tree for people: share, total and self in columns, then the function, indented.
//
//    share      total      self  function, callees below
//  100.0 %  412.0 MiB            main                    src/main.rs
//                                index_all               src/index.rs:12
//   79.6 %  328.0 MiB   1.0 MiB  ├─Block::push ×3        src/postings.rs:88
//    0.6 %    2.5 MiB            │ ├─… 4 more
//   78.7 %  324.5 MiB            │ Block::grow           src/postings.rs:90
//   20.4 %   84.0 MiB            └─… 9 more
//
// An only child that is shown stands below its parent without indentation, so that indentation
// grows where ways part and nowhere else; if it has all of its parent, its numbers are left out,
// too. Indentation that would take the room of the names loses its left part to the number of its
// levels.
#include "report/tree_writers.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "report/markup.h"
#include "report/report_cells.h"
#include "view/terms.h"
#include "words/image_text.h"
#include "words/shorten.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 1, NAME_MIN = 16, SELF_FROM = 60, LOCATION_FROM = 72, MARKDOWN_COLUMNS = 100 };

// One letter per level of indentation: what stands in its two columns.
enum branch { MIDDLE = 'm', LAST = 'l', PASSING = 'p', NOTHING = 'n' };

struct row {
  const struct tide_tree_node *node; // NULL: a rest
  char *branches;                    // enum branch; owned
  char *share, *total, *self;        // owned; "" where there is nothing to say
  char *words;                       // of a rest, owned; NULL for a node
};

struct columns { // widths
  size_t share, total, self, name, location;
  size_t bare; // of the name column, what indentation leaves; 0: it takes what it needs
  size_t room; // of name and location together
};

struct text {
  const struct tide_screen *screen;
  const struct tide_tree_writing *w;
  const struct tide_question *question;
  struct row *rows;
  size_t n_rows, cap_rows;
  struct tide_buf branches; // of lines below the node walked last
  size_t *below;            // how many of them belong to each level
  size_t n_below, cap_below;
  bool any_rest;
};

static char *measure(const struct text *t, int64_t value)
{
  return tide_cell_measure(t->screen, t->question, tide_profile_amount(t->w->view->profile, value));
}

static char *share(const struct text *t, int64_t value)
{
  char out[TIDE_UNITS_MAX];
  return tide_strdup(tide_units_share(out, tide_profile_amount(t->w->view->profile, value),
                                      tide_view_all(t->w->view), tide_screen_cells(t->screen)));
}

static struct row *add_row(struct text *t, char branch)
{
  TIDE_GROW(t->rows, t->n_rows, t->cap_rows);
  struct row *row = &t->rows[t->n_rows++];
  char *branches = tide_strndup((const char *)tide_buf_cstr(&t->branches), t->branches.n + 1);
  branches[t->branches.n] = 0;
  *row = (struct row){.branches =
                          branch ? tide_sprintf("%s%c", branches, branch) : tide_strdup(branches)};
  free(branches);
  return row;
}

static void add_rest(struct text *t, char branch, int64_t total, char *words)
{
  struct row *row = add_row(t, branch);
  row->share = share(t, total);
  row->total = measure(t, total);
  row->self = tide_strdup("");
  row->words = words;
}

// Whether a node is the only one shown of its parent's children. The root's stand side by side as
// soon as there is anything beside one.
static bool is_alone(const struct tide_tree_walk *walk)
{
  const struct tide_tree_level *above = &walk->levels[walk->depth - 1];
  const struct tide_tree_node *parent = &walk->tree->nodes[above->node];
  return above->n_shown == 1 && (walk->depth > 1 || (parent->n_children == 1 && !parent->self));
}

// Whether it has all that its parent has.
static bool has_all(const struct tide_tree_walk *walk)
{
  const struct tide_tree_node *parent = &walk->tree->nodes[walk->node->parent];
  return walk->depth > 1 && parent->n_children == 1 && !parent->self;
}

static void set_below(struct text *t, size_t depth)
{
  while (t->n_below <= depth) {
    TIDE_GROW(t->below, t->n_below, t->cap_below);
    t->below[t->n_below++] = 0;
  }
  t->below[depth] = t->branches.n;
}

static void add_left_out(struct text *t, const struct tide_tree_walk *walk, char branch)
{
  char count[TIDE_UNITS_MAX];
  t->branches.n = t->below[walk->depth];
  t->any_rest = true;
  add_rest(t, branch, walk->rest_total,
           tide_sprintf("%s %s more", t->screen->utf8 ? "…" : "...",
                        tide_units_plain(count, walk->rest_n)));
}

static void add_node(struct text *t, const struct tide_tree_walk *walk)
{
  const struct tide_tree_node *node = walk->node;
  bool alone = is_alone(walk), silent = has_all(walk), last = tide_tree_walk_is_last(walk);
  t->branches.n = t->below[walk->depth - 1];
  struct row *row = add_row(t, alone ? 0 : last ? LAST : MIDDLE);
  row->node = node;
  row->share = silent ? tide_strdup("") : share(t, node->total);
  row->total = silent ? tide_strdup("") : measure(t, node->total);
  row->self = node->self ? measure(t, node->self) : tide_strdup("");
  if (!alone)
    tide_buf_u8(&t->branches, last ? NOTHING : PASSING);
  set_below(t, walk->depth);
  if (walk->n_shown == 1 && walk->rest_n)
    add_left_out(t, walk, MIDDLE); // before the child: that goes on in this column
}

static void collect_rows(struct text *t)
{
  struct tide_tree_walk walk;
  tide_tree_walk_init(&walk, t->w->tree, &t->w->limits);
  set_below(t, 0);
  for (;;) {
    enum tide_tree_step step = tide_tree_walk_next(&walk);
    if (step == TIDE_TREE_END)
      break;
    if (step == TIDE_TREE_ENTER && walk.depth)
      add_node(t, &walk);
    if (step == TIDE_TREE_REST && (walk.n_shown != 1 || !walk.depth))
      add_left_out(t, &walk, LAST);
  }
  tide_tree_walk_done(&walk);
  t->branches.n = 0;
  if (t->w->tree->nodes[0].self)
    add_rest(t, 0, t->w->tree->nodes[0].self, tide_strdup("(every frame is hidden)"));
}

static void done(struct text *t)
{
  for (size_t i = 0; i < t->n_rows; i++) {
    free(t->rows[i].branches);
    free(t->rows[i].share);
    free(t->rows[i].total);
    free(t->rows[i].self);
    free(t->rows[i].words);
  }
  free(t->rows);
  free(t->below);
  tide_buf_done(&t->branches);
}

static char *name_of(const struct text *t, const struct row *row, size_t width)
{
  const struct tide_tree_node *node = row->node;
  if (!node)
    return tide_utf8_fit(row->words, width, t->screen->utf8);
  if (node->frame && node->frame->flags & TIDE_FRAME_CUT)
    return tide_utf8_fit(tide_term(TIDE_TERM_FRAMES_CUT), width, t->screen->utf8);
  char count[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *again = node->n_deep > 1
                                      ? tide_sprintf(" %s%s", tide_screen_times(t->screen),
                                                     tide_units_plain(count, node->n_deep))
                                      : tide_strdup("");
  size_t taken = tide_utf8_width(again);
  TIDE_CLEANUP_FREE char *name = tide_cell_name(t->screen, t->w->view->naming, node->frame,
                                                width > taken ? width - taken : width);
  return tide_sprintf("%s%s", name, again);
}

static char *location_of(const struct text *t, const struct row *row)
{
  if (!row->node || !row->node->frame || row->node->frame->flags & TIDE_FRAME_CUT)
    return tide_strdup("");
  struct tide_named_frame frame = *row->node->frame;
  if (!row->node->has_one_line)
    frame.line = 0;
  return tide_cell_location(t->w->view->naming, &frame);
}

static void widen_column(size_t *column, size_t width)
{
  if (*column < width)
    *column = width;
}

// With their indentation, and without it up to a limit.
static size_t widest_name(const struct text *t, size_t room, size_t *ret_bare)
{
  size_t widest = 0;
  *ret_bare = 0;
  for (size_t i = 0; i < t->n_rows; i++) {
    TIDE_CLEANUP_FREE char *name = name_of(t, &t->rows[i], room);
    size_t width = tide_utf8_width(name);
    widen_column(&widest, 2 * strlen(t->rows[i].branches) + width);
    widen_column(ret_bare, width < NAME_MIN ? width : NAME_MIN);
  }
  if (widest <= room)
    *ret_bare = 0; // all of it fits
  return widest < room ? widest : room;
}

// Locations give way first, down to a third; narrow screens show none.
static void share_out(const struct text *t, struct columns *c)
{
  for (size_t i = 0; i < t->n_rows; i++) {
    widen_column(&c->share, tide_utf8_width(t->rows[i].share));
    widen_column(&c->total, tide_utf8_width(t->rows[i].total));
    widen_column(&c->self, tide_utf8_width(t->rows[i].self));
    TIDE_CLEANUP_FREE char *location = location_of(t, &t->rows[i]);
    widen_column(&c->location, tide_utf8_width(location));
  }
  if (t->w->tree->inverted || t->screen->width < SELF_FROM)
    c->self = 0;
  size_t fixed = MARGIN + c->share + 2 + c->total + 2 + (c->self ? c->self + 2 : 0);
  size_t room = t->screen->width > fixed + NAME_MIN ? t->screen->width - fixed : NAME_MIN;
  c->room = room;
  size_t name = widest_name(t, t->screen->width, &c->bare);
  size_t spare = room > name + 2 ? room - name - 2 : 0, most = spare > room / 3 ? spare : room / 3;
  if (t->screen->width < LOCATION_FROM)
    most = 0;
  c->location = c->location < most ? c->location : most;
  c->name = widest_name(t, room - (c->location ? c->location + 2 : 0), &c->bare);
}

static void write_branches(const struct text *t, const char *branches)
{
  const struct {
    char branch;
    const char *fine, *plain;
  } looks[] = {
      {MIDDLE, "├─", "|-"}, {LAST, "└─", "`-"}, {PASSING, "│ ", "| "}, {NOTHING, "  ", "  "}};
  struct tide_buf out = {0};
  for (; *branches; branches++)
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
      if (looks[i].branch == *branches)
        tide_buf_text(&out, t->screen->utf8 ? looks[i].fine : looks[i].plain);
  tide_screen_ink(t->screen, TIDE_INK_FAINT, tide_buf_cstr(&out));
  tide_buf_done(&out);
}

// The branches, without their left part where they would leave no room; the columns they take.
static size_t write_indent(const struct text *t, const struct row *row, const struct columns *c)
{
  size_t n = strlen(row->branches), room = c->name > c->bare ? (c->name - c->bare) / 2 : 0;
  if (n <= room) {
    write_branches(t, row->branches);
    return 2 * n;
  }
  char levels[TIDE_UNITS_MAX] = "**";
  if (n < 100)
    snprintf(levels, sizeof levels, "%2zu", n);
  tide_screen_ink(t->screen, TIDE_INK_FAINT, levels);
  if (room < 2)
    return 2;
  write_branches(t, row->branches + n - (room - 1));
  return 2 * room;
}

static enum tide_ink ink_of(const struct row *row)
{
  bool mine = row->node && row->node->frame && row->node->frame->layer == TIDE_LAYER_USER;
  return mine ? TIDE_INK_PLAIN : TIDE_INK_FAINT;
}

static void write_numbers(const struct text *t, const struct columns *c, const char *share_text,
                          const char *total, const char *self, enum tide_ink ink)
{
  const struct tide_screen *screen = t->screen;
  tide_sink_repeat(screen->sink, ' ', MARGIN);
  tide_screen_right(screen, TIDE_INK_PLAIN, share_text, c->share);
  tide_sink_text(screen->sink, "  ");
  tide_screen_right(screen, ink, total, c->total);
  tide_sink_text(screen->sink, "  ");
  if (!c->self)
    return;
  tide_screen_right(screen, TIDE_INK_PLAIN, self, c->self);
  tide_sink_text(screen->sink, "  ");
}

static void write_row(const struct text *t, const struct columns *c, const struct row *row)
{
  const struct tide_screen *screen = t->screen;
  write_numbers(t, c, row->share, row->total, row->self,
                row->node ? TIDE_INK_STRONG : TIDE_INK_PLAIN);
  size_t used = write_indent(t, row, c);
  TIDE_CLEANUP_FREE char *name = name_of(t, row, c->name - used);
  TIDE_CLEANUP_FREE char *whole = location_of(t, row);
  TIDE_CLEANUP_FREE char *location = tide_shorten_location(whole, c->location, screen->utf8);
  tide_screen_left(screen, ink_of(row), name, *location ? c->name - used + 2 : 0);
  tide_screen_ink(screen, TIDE_INK_FAINT, location);
  tide_sink_text(screen->sink, "\n");
}

static void write_table(const struct text *t)
{
  const char *total = tide_term(TIDE_TERM_TOTAL), *self = tide_term(TIDE_TERM_SELF);
  struct columns c = {.share = 7, .total = strlen(total), .self = strlen(self)};
  share_out(t, &c);
  write_numbers(t, &c, tide_term(TIDE_TERM_SHARE), total, self, TIDE_INK_PLAIN);
  TIDE_CLEANUP_FREE char *title = tide_sprintf("%s, %s below", tide_term(TIDE_TERM_FUNCTION),
                                               t->w->tree->inverted ? "callers" : "callees");
  TIDE_CLEANUP_FREE char *fitting = tide_utf8_fit(title, c.room, t->screen->utf8);
  tide_sink_printf(t->screen->sink, "%s\n", fitting);
  for (size_t i = 0; i < t->n_rows; i++)
    write_row(t, &c, &t->rows[i]);
}

// With its bound, which the table does not repeat.
static char *in_full(const struct text *t, int64_t value)
{
  char text[TIDE_UNITS_MAX];
  struct tide_amount amount = tide_profile_amount(t->w->view->profile, value);
  struct tide_style style = tide_screen_style(t->screen);
  if (t->question->at_least) // the words after it say so
    amount.exactness = TIDE_EXACT;
  return tide_strdup(t->question->unit == TIDE_UNIT_BYTES ? tide_units_bytes(text, amount, style)
                                                          : tide_units_count(text, amount, style));
}

// "indexer: 64.0 MiB of 412.0 MiB at the peak, through malloc"
static void write_title(const struct text *t)
{
  const struct tide_view *view = t->w->view;
  const struct tide_tree_node *root = &t->w->tree->nodes[0];
  TIDE_CLEANUP_FREE char *total =
      view->unwanted ? measure(t, root->total) : in_full(t, root->total);
  TIDE_CLEANUP_FREE char *whole = in_full(t, view->whole);
  TIDE_CLEANUP_FREE char *words = tide_question_words(t->screen, t->question);
  TIDE_CLEANUP_FREE char *label = tide_sprintf("%s: ", tide_image_program(view->profile->image));
  TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(label, t->screen->utf8);
  const char *pattern = t->w->callers ? t->w->callers : t->w->callees;
  struct tide_buf out = {0};
  if (!t->n_rows && !view->whole && t->question->of_pages)
    tide_buf_text(&out, tide_pages_nothing(view->profile));
  else if (!t->n_rows && !view->whole)
    tide_buf_printf(&out, "nothing %s", words);
  else if (!t->n_rows)
    tide_buf_printf(&out, "none of %s %s", whole, words);
  else if (view->unwanted)
    tide_buf_printf(&out, "%s of %s %s", total, whole, words);
  else
    tide_buf_printf(&out, "%s %s", total, words);
  if (pattern)
    tide_buf_printf(&out, ", through %s", pattern);
  tide_screen_paragraph(t->screen, TIDE_INK_STRONG, "", clean, tide_buf_cstr(&out));
  tide_buf_done(&out);
}

// "folded: runtime frames; --all-frames shows them"
static void write_hinted(const struct text *t, const char *label, const char *what,
                         enum tide_hint hint)
{
  const char *way = tide_screen_hint(t->screen, hint);
  TIDE_CLEANUP_FREE char *text = tide_sprintf("%s%s%s", what, way ? "; " : "", way ? way : "");
  tide_screen_paragraph(t->screen, TIDE_INK_PLAIN, " ", label, text);
}

static void write_notes(const struct text *t)
{
  const struct tide_profile *profile = t->w->view->profile;
  const struct tide_capture *capture = profile->capture;
  if (t->any_rest && t->w->default_limits)
    write_hinted(t, "left out: ", "what has less than 0.5 %", TIDE_HINT_ALL_NODES);
  if (t->w->tree->has_folded)
    write_hinted(t, "folded: ", "runtime frames", TIDE_HINT_ALL_FRAMES);
  if (!tide_profile_is_complete(profile) || capture->cut || !capture->finished)
    tide_screen_paragraph(t->screen, TIDE_INK_WARN, " ", "note: ",
                          "the recording is not complete; tidemark report says what is missing");
}

void tide_tree_text_write(const struct tide_screen *screen, const struct tide_tree_writing *writing)
{
  struct text t = {.screen = screen, .w = writing};
  t.question = &writing->view->profile->question;
  collect_rows(&t);
  if (!writing->is_table)
    write_title(&t);
  if (t.n_rows)
    write_table(&t);
  if (!writing->is_table)
    write_notes(&t);
  done(&t);
}

// A table has no indentation, so the text itself, fenced.
void tide_tree_md_write(const struct tide_screen *screen, const struct tide_tree_writing *writing)
{
  struct tide_sink text;
  tide_sink_init(&text, NULL);
  const struct tide_screen inner = {.sink = &text,
                                    .width = MARKDOWN_COLUMNS,
                                    .utf8 = true,
                                    .units = screen->units,
                                    .hints = screen->hints};
  tide_tree_text_write(&inner, writing);
  size_t ticks = tide_markdown_fence(tide_buf_cstr(&text.buf));
  size_t fence = ticks < 3 ? 3 : ticks + 1;
  tide_sink_repeat(screen->sink, '`', fence);
  tide_sink_text(screen->sink, "text\n");
  tide_sink_bytes(screen->sink, text.buf.data, text.buf.n);
  tide_sink_repeat(screen->sink, '`', fence);
  tide_sink_text(screen->sink, "\n");
  tide_sink_done(&text);
}
