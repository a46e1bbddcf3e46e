// SPDX-License-Identifier: Apache-2.0
//
// A stack is drawn as its frames, innermost first; frames of the runtime are folded into a count
// (unless there are no others), so is a function that calls itself, and of a stack that is still
// very deep the middle is left out: one stack must not fill the screen. Every fold says how many
// frames it stands for.
#include "report/report_cells.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "view/terms.h"
#include "words/shorten.h"

#include <stdlib.h>

enum {
  LINES_MAX = 40, // of one stack
  LINES_LAST = 8, // of them at its outer end
};

struct line {
  const struct tide_named_frame *frame; // NULL: frames folded
  size_t n_folded;
  const char *one, *many; // what they are, after their number
};

struct lines { // of one stack
  struct line *items;
  size_t n, cap;
};

static void add_line(struct lines *lines, struct line line)
{
  TIDE_GROW(lines->items, lines->n, lines->cap);
  lines->items[lines->n++] = line;
}

static struct lines all_frames(struct tide_view *view, uint32_t stack)
{
  const struct tide_image *image = view->profile->image;
  struct lines lines = {0};
  for (uint32_t node = stack; node; node = image->frames[node].parent) {
    size_t n;
    const struct tide_named_frame *frames = tide_naming_of_node(view->naming, node, &n);
    for (size_t i = 0; i < n; i++) {
      if (!(frames[i].flags & (TIDE_FRAME_PAGES | TIDE_FRAME_LOST)))
        add_line(&lines, (struct line){.frame = &frames[i]});
    }
  }
  return lines;
}

static const struct line runtime_line = {NULL, 1, "runtime frame", "runtime frames"};

// What a filter leaves of a stack.
static struct lines frames_in_view(struct tide_view *view, uint32_t stack)
{
  size_t n;
  struct lines lines = {0};
  const struct tide_view_frame *frames = tide_view_stack(view, stack, &n);
  for (size_t i = 0; i < n; i++) {
    struct line folded = runtime_line;
    folded.n_folded = frames[i].n_folded;
    if (folded.n_folded)
      add_line(&lines, folded);
    add_line(&lines, (struct line){.frame = frames[i].frame});
  }
  return lines;
}

// Runs of runtime frames become one line, if any other is left.
static void fold_runtime(struct lines *lines)
{
  size_t n_runtime = 0, out = 0;
  for (size_t i = 0; i < lines->n; i++)
    n_runtime += tide_layer_is_folded(lines->items[i].frame->layer);
  if (n_runtime == lines->n)
    return;
  for (size_t i = 0; i < lines->n; i++) {
    struct line line = lines->items[i];
    bool runtime = tide_layer_is_folded(line.frame->layer);
    if (runtime && out && lines->items[out - 1].n_folded) {
      lines->items[out - 1].n_folded++;
      continue;
    }
    lines->items[out++] = runtime ? runtime_line : line;
  }
  lines->n = out;
}

// A function that calls itself: the first frame, and a line for the same again.
static void fold_recursion(struct lines *lines)
{
  const struct tide_named_frame *last = NULL;
  size_t out = 0;
  for (size_t i = 0; i < lines->n; i++) {
    struct line line = lines->items[i];
    bool again = last && line.frame && tide_place_compare(last, line.frame) == 0;
    last = line.frame;
    if (again && !lines->items[out - 1].frame) {
      lines->items[out - 1].n_folded++;
      continue;
    }
    lines->items[out++] = again ? (struct line){NULL, 1, "more of it", "more of it"} : line;
  }
  lines->n = out;
}

static void fold_middle(struct lines *lines)
{
  if (lines->n <= LINES_MAX)
    return;
  size_t first = LINES_MAX - LINES_LAST - 1, last = lines->n - LINES_LAST, n_folded = 0;
  for (size_t i = first; i < last; i++)
    n_folded += lines->items[i].frame ? 1 : lines->items[i].n_folded;
  lines->items[first] = (struct line){NULL, n_folded, "more frame", "more frames"};
  for (size_t i = 0; i < LINES_LAST; i++)
    lines->items[first + 1 + i] = lines->items[last + i];
  lines->n = LINES_MAX;
}

static char *name_of(const struct tide_screen *screen, const struct tide_view *view,
                     const struct tide_named_frame *frame, size_t width)
{
  if (frame->flags & TIDE_FRAME_CUT)
    return tide_utf8_fit(tide_term(TIDE_TERM_FRAMES_CUT), width, screen->utf8);
  return tide_cell_name(screen, view->naming, frame, width);
}

static char *location_of(const struct tide_view *view, const struct tide_named_frame *frame)
{
  return frame->flags & TIDE_FRAME_CUT ? tide_strdup("") : tide_cell_location(view->naming, frame);
}

static size_t frame_indent(const struct tide_screen *screen)
{
  return tide_screen_indent(screen) + 2;
}

// Widths of names and of locations: as the table does it, names first.
static void measure_lines(const struct tide_screen *screen, const struct tide_view *view,
                          const struct lines *lines, size_t *ret_name, size_t *ret_location)
{
  size_t room = screen->width - frame_indent(screen), name = 0, location = 0;
  for (size_t i = 0; i < lines->n; i++) {
    if (!lines->items[i].frame)
      continue;
    TIDE_CLEANUP_FREE char *name_text = name_of(screen, view, lines->items[i].frame, room);
    TIDE_CLEANUP_FREE char *location_text = location_of(view, lines->items[i].frame);
    size_t name_width = tide_utf8_width(name_text), width = tide_utf8_width(location_text);
    name = name_width > name ? name_width : name;
    location = width > location ? width : location;
  }
  size_t spare = room > name + 2 ? room - name - 2 : 0, least = room * 2 / 5;
  size_t limit = spare > least ? spare : least;
  *ret_location = location < limit ? location : limit;
  size_t left = room - *ret_location - 2;
  *ret_name = name < left ? name : left;
}

static void write_lines(const struct tide_screen *screen, const struct tide_view *view,
                        const struct lines *lines)
{
  size_t name_width, location_width;
  measure_lines(screen, view, lines, &name_width, &location_width);
  for (size_t i = 0; i < lines->n; i++) {
    const struct line *line = &lines->items[i];
    tide_sink_repeat(screen->sink, ' ', frame_indent(screen));
    if (!line->frame) {
      char count[TIDE_UNITS_MAX];
      TIDE_CLEANUP_FREE char *text =
          tide_sprintf("(%s %s)", tide_units_plain(count, line->n_folded),
                       line->n_folded == 1 ? line->one : line->many);
      tide_screen_ink(screen, TIDE_INK_FAINT, text);
    } else {
      TIDE_CLEANUP_FREE char *name = name_of(screen, view, line->frame, name_width);
      TIDE_CLEANUP_FREE char *whole = location_of(view, line->frame);
      TIDE_CLEANUP_FREE char *location = tide_shorten_location(whole, location_width, screen->utf8);
      enum tide_ink ink = line->frame->layer == TIDE_LAYER_USER ? TIDE_INK_PLAIN : TIDE_INK_FAINT;
      tide_screen_left(screen, ink, name, *location ? name_width + 2 : 0);
      tide_screen_ink(screen, TIDE_INK_FAINT, location);
    }
    tide_sink_text(screen->sink, "\n");
  }
}

// "61.3 % of it, 116.9 MiB, through:": the share is of the row.
static void write_head(const struct tide_screen *screen, const struct tide_view *view,
                       const struct tide_group *group, int64_t measure, const char *words)
{
  char share[TIDE_UNITS_MAX];
  struct tide_amount amount = tide_profile_amount(view->profile, measure);
  TIDE_CLEANUP_FREE char *size = tide_cell_measure(screen, &view->profile->question, amount);
  TIDE_CLEANUP_FREE char *text = tide_sprintf(
      "%s of it, %s, %s",
      tide_units_share(share, amount, group->measure, tide_screen_cells(screen)), size, words);
  tide_sink_repeat(screen->sink, ' ', tide_screen_indent(screen));
  tide_screen_wrap(screen, tide_screen_indent(screen), text);
}

static struct lines lines_of(struct tide_view *view, uint32_t stack, bool all)
{
  bool filtered = !tide_filter_is_empty(view->filter);
  struct lines lines = filtered ? frames_in_view(view, stack) : all_frames(view, stack);
  if (all)
    return lines;
  if (!filtered)
    fold_runtime(&lines);
  fold_recursion(&lines);
  fold_middle(&lines);
  return lines;
}

void tide_stacks_write(const struct tide_screen *screen, struct tide_view *view,
                       const struct tide_groups *groups, size_t group_idx,
                       const struct tide_report_options *options)
{
  const struct tide_group *group = &groups->items[group_idx];
  int64_t left = group->measure;
  size_t n = 0, n_stacks = tide_groups_stacks(groups, view->profile, group_idx);
  for (size_t i = 0; i < n_stacks && n < options->n_stacks; i++) {
    const struct tide_group_gift gift = tide_groups_stack(groups, view->profile, group_idx, i);
    const struct tide_profile_site *site = &view->profile->sites[gift.site];
    if (site->kind == TIDE_SITE_LOST)
      continue;
    struct lines lines = lines_of(view, site->stack, options->all_frames);
    if (n_stacks > 1)
      write_head(screen, view, group, gift.weight, "through:");
    write_lines(screen, view, &lines);
    free(lines.items);
    left -= gift.weight;
    n++;
  }
  if (n && n < n_stacks) {
    char count[TIDE_UNITS_MAX];
    size_t n_more = n_stacks - n;
    TIDE_CLEANUP_FREE char *words = tide_sprintf(
        "through %s more %s", tide_units_plain(count, n_more), n_more == 1 ? "stack" : "stacks");
    write_head(screen, view, group, left, words);
  }
}
