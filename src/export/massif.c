// SPDX-License-Identifier: Apache-2.0
//
// Massif's output: the heap's size over time, and at some moments who held it, as a tree from the
// allocating functions out to their callers. For ms_print and massif-visualizer.
//
//  1. Every tick is a snapshot of the size alone, every snapshot of ours one with a tree. The one
//     marked as the peak is the peak, wherever the program ended. What claims to be more was read
//     while the program ran on, and is left out.
//  2. A node's bytes are those of its children and of the stacks that end there; the root's are the
//     snapshot's heap. Children come by falling size. Those below one percent of the heap are told
//     together, in massif's own words, which readers look for.
//  3. Nothing can be quoted. ms_print cuts a line at '#', which rustc has in its names, so that
//     becomes '@'. Control characters and broken text become '?'.
//  4. A line is indented by its depth, so a stack's lines grow with its square: MAX_DEPTH frames
//     are written, the innermost ones.
//
// The tree of a snapshot is never made as a whole: from the innermost frame out nearly every stack
// is a branch of its own. A node has a range of the snapshot's stacks, which its children share out
// among them, and of those only the ones that are written.
#define _GNU_SOURCE
#include "export/exports.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "export/export_stacks.h"
#include "report/export_words.h"
#include "words/image_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN "???"
#define ADDRESSES_N (INT64_C(1) << 47)
enum { MAX_DEPTH = 500, FOLD_PERCENT = 1 };

struct item {    // a stack of the snapshot at hand
  uint32_t next; // its innermost frame not written yet, as a node of the stacks; 0: none
  int64_t bytes;
};

struct group { // a child in the making
  uint32_t text, n_items;
  int64_t bytes;
  size_t at; // where its next item goes
};

struct moment {
  uint64_t time_ns;
  int64_t bytes;
  const struct tide_snapshot *snapshot; // NULL: only the size is known
  size_t number;                        // in the order they came
};

struct line { // of a tree, to be written
  uint32_t text, depth;
  uint32_t n_folded; // not 0: so many places are told together
  int64_t bytes;
  size_t first, past; // of the items: the stacks through it
};

struct writer {
  struct tide_sink *sink;
  struct tide_view *view;
  const struct tide_image *image;
  uint8_t *wanted; // per node of the trie: a stack of the view
  struct tide_export_stacks stacks;
  uint32_t *node_of; // per node of the trie: the innermost node of its stack; 0: none needed
  struct tide_snapshot own[2]; // peak and end of an image that came without snapshots
  size_t n_own;
  struct moment *moments;
  size_t n_moments, cap_moments, peak;
  struct item *items, *scratch; // of the snapshot at hand
  size_t n_items;
  int64_t heap;
  struct group *groups; // of the node at hand
  size_t n_groups, cap_groups;
  uint32_t *group_of; // per text: its group + 1; 0: none
  struct line *lines;
  size_t n_lines, cap_lines;
};

// Numbers of a damaged file may be anything: no stack holds more than there are addresses, and sums
// do not overflow.
static int64_t sane_bytes(int64_t bytes)
{
  return bytes < 0 ? 0 : bytes < ADDRESSES_N ? bytes : ADDRESSES_N;
}

static int64_t capped_sum(int64_t a, int64_t b)
{
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void find_wanted(struct writer *w)
{
  const struct tide_profile *profile = w->view->profile;
  w->wanted = tide_alloc_array(w->image->n_frames, 1);
  for (size_t i = 0; i < profile->n_sites; i++)
    if (tide_view_has(w->view, i))
      w->wanted[profile->sites[i].stack] = 1;
}

static int64_t sum_snapshot(const struct writer *w, const struct tide_snapshot *snapshot)
{
  int64_t sum = 0;
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row row = tide_snapshot_row_at(snapshot, i);
    if (w->wanted[row.stack])
      sum = capped_sum(sum, sane_bytes(row.live_bytes));
  }
  return sum;
}

static void add_moment(struct writer *w, struct moment moment)
{
  const struct tide_window *window = &w->view->profile->question.window;
  uint64_t start = w->image->start_ns;
  if (moment.time_ns < start)
    moment.time_ns = start;
  if (window->from.given && moment.time_ns < start + window->from.seen_ns)
    return;
  if (window->to.given && moment.time_ns > start + window->to.seen_ns)
    return;
  TIDE_GROW(w->moments, w->n_moments, w->cap_moments);
  moment.number = w->n_moments;
  w->moments[w->n_moments++] = moment;
}

static bool has_kind(const struct tide_image *image, enum tide_snapshot_kind kind)
{
  for (size_t i = 0; i < image->n_snapshots; i++)
    if (image->snapshots[i].kind == kind)
      return true;
  return false;
}

// The sites know the peak and the end of an image that came without such snapshots.
static void make_snapshot(struct writer *w, enum tide_snapshot_kind kind, uint64_t time_ns)
{
  const struct tide_profile *profile = w->view->profile;
  if (has_kind(w->image, kind))
    return;
  struct tide_snapshot *made = &w->own[w->n_own++];
  made->kind = kind;
  made->time_ns = time_ns;
  made->rows = tide_alloc_array(profile->n_sites + 1, sizeof *made->rows);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    int64_t bytes =
        kind == TIDE_SNAPSHOT_PEAK ? TIDE_OF_SITE(site, peak_bytes) : tide_site_live_bytes(site);
    made->rows[made->n_rows++] =
        (struct tide_snapshot_row){.stack = site->stack, .live_bytes = bytes};
  }
  add_moment(w, (struct moment){time_ns, sum_snapshot(w, made), made});
}

static bool has_clock(const struct writer *w)
{
  return !(w->image->lacks & TIDE_LACK_CLOCK);
}

// In milliseconds; without a clock in whatever the times count.
static uint64_t time_of(const struct writer *w, const struct moment *moment)
{
  uint64_t time_ns = moment->time_ns - w->image->start_ns;
  return has_clock(w) ? time_ns / 1000000 : time_ns;
}

// By time; of one time, sizes alone come first, and otherwise it is the order in which they came.
static int by_time(const void *left, const void *right)
{
  const struct moment *a = left, *b = right;
  if (a->time_ns != b->time_ns)
    return a->time_ns < b->time_ns ? -1 : 1;
  int order = (a->snapshot != NULL) - (b->snapshot != NULL);
  return order ? order : (a->number > b->number) - (a->number < b->number);
}

// Whether a later one of the same millisecond and size tells as much. The peak and the end stay.
static bool is_repeated(const struct writer *w, size_t i)
{
  const struct moment *moment = &w->moments[i];
  uint64_t ms = time_of(w, moment);
  if (moment->snapshot && moment->snapshot->kind != TIDE_SNAPSHOT_TIMED)
    return false;
  for (size_t k = i + 1; k < w->n_moments && time_of(w, &w->moments[k]) == ms; k++)
    if (w->moments[k].bytes == moment->bytes && (w->moments[k].snapshot || !moment->snapshot))
      return true;
  return false;
}

static void leave_out_repeated(struct writer *w)
{
  TIDE_CLEANUP_FREE bool *repeated = tide_alloc_array(w->n_moments + 1, sizeof *repeated);
  size_t n = 0;
  for (size_t i = 0; i < w->n_moments; i++)
    repeated[i] = is_repeated(w, i);
  for (size_t i = 0; i < w->n_moments; i++)
    if (!repeated[i])
      w->moments[n++] = w->moments[i];
  w->n_moments = n;
}

// The one known to be the peak or, where that is filtered or left out, the largest.
static void find_peak(struct writer *w)
{
  bool is_whole = !w->view->unwanted, is_known = false;
  w->peak = SIZE_MAX;
  for (size_t i = 0; i < w->n_moments; i++) {
    const struct moment *moment = &w->moments[i];
    if (!moment->snapshot)
      continue;
    bool is_peak = is_whole && moment->snapshot->kind == TIDE_SNAPSHOT_PEAK;
    bool is_larger = w->peak == SIZE_MAX || moment->bytes >= w->moments[w->peak].bytes;
    if (is_peak > is_known || (is_peak == is_known && is_larger))
      w->peak = i;
    is_known |= is_peak;
  }
}

static void leave_out_impossible(struct writer *w)
{
  int64_t most = w->peak == SIZE_MAX ? INT64_MAX : w->moments[w->peak].bytes;
  size_t n = 0, peak = w->peak;
  for (size_t i = 0; i < w->n_moments; i++) {
    if (w->moments[i].bytes > most)
      continue;
    if (i == peak)
      w->peak = n;
    w->moments[n++] = w->moments[i];
  }
  w->n_moments = n;
}

static void find_moments(struct writer *w)
{
  const struct tide_image *image = w->image;
  add_moment(w, (struct moment){image->start_ns, 0, NULL});
  for (size_t i = 0; i < image->n_ticks && !w->view->unwanted; i++)
    add_moment(
        w, (struct moment){image->ticks[i].time_ns, sane_bytes(image->ticks[i].live_bytes), NULL});
  for (size_t i = 0; i < image->n_snapshots; i++)
    add_moment(w, (struct moment){image->snapshots[i].time_ns,
                                  sum_snapshot(w, &image->snapshots[i]), &image->snapshots[i]});
  if (!(image->lacks & TIDE_LACK_PEAK) && !image->is_part)
    make_snapshot(w, TIDE_SNAPSHOT_PEAK, image->peak_ns);
  if (!(image->lacks & TIDE_LACK_LIVE))
    make_snapshot(w, TIDE_SNAPSHOT_END, image->end_ns);
  if (w->n_moments)
    qsort(w->moments, w->n_moments, sizeof *w->moments, by_time);
  leave_out_repeated(w);
  find_peak(w);
  leave_out_impossible(w);
}

static bool is_told(const struct writer *w, const struct tide_snapshot_row *row)
{
  return w->wanted[row->stack] && row->live_bytes > 0;
}

// The stacks of all snapshots, and room for the largest of them.
static void read_stacks(struct writer *w)
{
  const struct tide_profile *profile = w->view->profile;
  size_t most = 0;
  w->node_of = tide_alloc_array(w->image->n_frames, sizeof *w->node_of);
  for (size_t m = 0; m < w->n_moments; m++) {
    const struct tide_snapshot *snapshot = w->moments[m].snapshot;
    for (size_t i = 0; snapshot && i < snapshot->n_rows; i++) {
      const struct tide_snapshot_row row = tide_snapshot_row_at(snapshot, i);
      if (is_told(w, &row))
        w->node_of[row.stack] = 1;
    }
    most = snapshot && snapshot->n_rows > most ? snapshot->n_rows : most;
  }
  for (size_t i = 0; i < profile->n_sites; i++) {
    uint32_t *node = &w->node_of[profile->sites[i].stack];
    if (*node)
      *node = tide_export_stacks_innermost(&w->stacks,
                                           tide_export_stacks_add(&w->stacks, &profile->sites[i]));
  }
  w->items = tide_alloc_array(most, sizeof *w->items);
  w->scratch = tide_alloc_array(most, sizeof *w->scratch);
  w->group_of = tide_alloc_array(w->stacks.texts.n, sizeof *w->group_of);
}

static void read_items(struct writer *w, const struct tide_snapshot *snapshot)
{
  w->n_items = 0;
  w->heap = 0;
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row row = tide_snapshot_row_at(snapshot, i);
    if (!is_told(w, &row))
      continue;
    struct item item = {w->node_of[row.stack], sane_bytes(row.live_bytes)};
    w->items[w->n_items++] = item;
    w->heap = capped_sum(w->heap, item.bytes);
  }
}

// The stacks of a line by their next frame.
static void find_groups(struct writer *w, const struct line *line)
{
  w->n_groups = 0;
  for (size_t i = line->first; i < line->past; i++) {
    const struct item *item = &w->items[i];
    if (!item->next)
      continue;
    uint32_t text = tide_export_stacks_text(&w->stacks, item->next);
    if (!w->group_of[text]) {
      TIDE_GROW(w->groups, w->n_groups, w->cap_groups);
      w->groups[w->n_groups++] = (struct group){.text = text};
      w->group_of[text] = (uint32_t)w->n_groups;
    }
    struct group *group = &w->groups[w->group_of[text] - 1];
    group->bytes = capped_sum(group->bytes, item->bytes);
    group->n_items++;
  }
}

// Puts the stacks of each group that has a line side by side, one frame further out; the others
// are forgotten.
static void share_out(struct writer *w, const struct line *line)
{
  size_t n = line->past - line->first;
  memcpy(w->scratch, w->items + line->first, n * sizeof *w->items);
  for (size_t i = 0; i < n; i++) {
    struct item item = w->scratch[i];
    struct group *group =
        item.next ? &w->groups[w->group_of[tide_export_stacks_text(&w->stacks, item.next)] - 1]
                  : NULL;
    if (!group || group->at == SIZE_MAX)
      continue;
    item.next = tide_export_stacks_outer(&w->stacks, item.next);
    w->items[group->at++] = item;
  }
  for (size_t i = 0; i < w->n_groups; i++)
    w->group_of[w->groups[i].text] = 0;
}

static void push_line(struct writer *w, struct line line)
{
  TIDE_GROW(w->lines, w->n_lines, w->cap_lines);
  w->lines[w->n_lines++] = line;
}

static int by_size(const void *left, const void *right) // the smallest first: it is a stack
{
  const struct line *a = left, *b = right;
  if (a->bytes != b->bytes)
    return a->bytes < b->bytes ? -1 : 1;
  return a->text < b->text ? 1 : -1;
}

// Puts the children of a line on the stack of lines, the first one uppermost; gives their number.
static size_t push_children(struct writer *w, const struct line *line)
{
  int64_t heap = w->heap;
  int64_t least = heap / 100 * FOLD_PERCENT + (heap % 100 * FOLD_PERCENT + 99) / 100;
  struct line folded = {.depth = line->depth + 1};
  size_t before = w->n_lines, at = line->first;
  find_groups(w, line);
  push_line(w, folded);
  for (size_t i = 0; i < w->n_groups; i++) {
    struct group *group = &w->groups[i];
    bool has_line = group->bytes >= least;
    group->at = has_line ? at : SIZE_MAX;
    if (has_line) {
      push_line(
          w, (struct line){group->text, line->depth + 1, 0, group->bytes, at, at + group->n_items});
      at += group->n_items;
    } else {
      folded.n_folded++;
      folded.bytes = capped_sum(folded.bytes, group->bytes);
    }
  }
  share_out(w, line);
  w->lines[before] = folded; // told last
  if (w->n_lines > before + 2)
    qsort(w->lines + before + 1, w->n_lines - before - 1, sizeof *w->lines, by_size);
  if (!folded.n_folded)
    memmove(w->lines + before, w->lines + before + 1, (--w->n_lines - before) * sizeof *w->lines);
  return w->n_lines - before;
}

static char *clean_text(const char *text)
{
  char *clean = tide_utf8_clean(text, true);
  for (char *c = clean; (c = strchr(c, '#'));)
    *c = '@';
  return clean;
}

static char *frame_text(const struct tide_naming *naming, const struct tide_named_frame *frame)
{
  if (frame->flags & TIDE_FRAME_CUT)
    return tide_strdup("0x0: [frames left out] (in " UNKNOWN ")");
  const char *module = tide_naming_module_path(naming, frame);
  TIDE_CLEANUP_FREE char *function = clean_text(frame->function ? frame->function : UNKNOWN);
  TIDE_CLEANUP_FREE char *where = clean_text(frame->file ? frame->file
                                             : *module   ? module
                                                         : UNKNOWN);
  if (frame->file)
    return tide_sprintf("0x%" PRIX64 ": %s (%s:%" PRIu32 ")", frame->pc, function, where,
                        frame->line);
  return tide_sprintf("0x%" PRIX64 ": %s (in %s)", frame->pc, function, where);
}

static void write_text(struct writer *w, uint32_t text)
{
  size_t n;
  const char *bytes = tide_intern_get(&w->stacks.texts, text, &n);
  bool is_frame = n > 2 && memcmp(bytes, "0x", 2) == 0; // or words instead of one
  tide_sink_text(w->sink, is_frame ? "" : "0x0: ");
  tide_sink_bytes(w->sink, bytes, n);
  tide_sink_text(w->sink, is_frame ? "" : " (in " UNKNOWN ")");
}

static void write_line(struct writer *w, const struct line *line, size_t n_children)
{
  tide_sink_repeat(w->sink, ' ', line->depth);
  tide_sink_printf(w->sink, "n%zu: %" PRId64 " ", n_children, line->bytes);
  if (line->n_folded)
    tide_sink_printf(w->sink, "in %" PRIu32 " place%s below massif's threshold (%d.00%%)",
                     line->n_folded, line->n_folded == 1 ? "," : "s, all", FOLD_PERCENT);
  else if (line->depth == 0)
    tide_sink_text(w->sink, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
  else
    write_text(w, line->text);
  tide_sink_text(w->sink, "\n");
}

static void write_tree(struct writer *w, const struct tide_snapshot *snapshot)
{
  read_items(w, snapshot);
  w->n_lines = 0;
  push_line(w, (struct line){.bytes = w->heap, .past = w->n_items});
  while (w->n_lines) {
    struct line line = w->lines[--w->n_lines];
    bool has_children = !line.n_folded && line.depth < MAX_DEPTH;
    size_t n = has_children ? push_children(w, &line) : 0;
    write_line(w, &line, n);
  }
}

static void write_moment(struct writer *w, size_t i)
{
  const struct moment *moment = &w->moments[i];
  bool has_tree = moment->snapshot && moment->bytes > 0;
  tide_sink_printf(w->sink,
                   "#-----------\nsnapshot=%zu\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRId64
                   "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
                   i, time_of(w, moment), moment->bytes,
                   !has_tree      ? "empty"
                   : i == w->peak ? "peak"
                                  : "detailed");
  if (has_tree)
    write_tree(w, moment->snapshot);
}

static void write_clean(struct writer *w, const char *text)
{
  TIDE_CLEANUP_FREE char *clean = clean_text(text);
  tide_sink_text(w->sink, clean);
}

static void write_file(struct writer *w)
{
  TIDE_CLEANUP_FREE char *command = tide_image_command(w->image);
  TIDE_CLEANUP_FREE char *by = tide_export_with_exactness(
      w->image->origin ? w->image->origin : "tidemark", w->view->profile);
  tide_sink_text(w->sink, "desc: recorded by ");
  write_clean(w, by);
  tide_sink_text(w->sink, "\ncmd: ");
  write_clean(w, *command ? command : tide_image_program(w->image));
  tide_sink_text(w->sink, has_clock(w) ? "\ntime_unit: ms\n" : "\ntime_unit: i\n");
  for (size_t i = 0; i < w->n_moments; i++)
    write_moment(w, i);
}

static enum tide_err check_massif(const struct tide_view *view,
                                  const struct tide_export_options *options, struct tide_diag *diag)
{
  const struct tide_question *question = &view->profile->question;
  const struct tide_image *image = view->profile->image;
  bool is_whole = !question->window.from.given && !question->window.to.given;
  bool is_live = question->measure == TIDE_MEASURE_LIVE ||
                 question->measure == (is_whole ? TIDE_MEASURE_PEAK : TIDE_MEASURE_GROWN);
  if (image->lacks & TIDE_LACK_PEAK && image->lacks & TIDE_LACK_LIVE && !image->n_snapshots)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "massif files tell what was live over time, which this capture does not hold");
  if (options->measure_said && (question->unit != TIDE_UNIT_BYTES || !is_live))
    return tide_fail_hint(diag, TIDE_ERR_USAGE, TIDE_HINT_NO_MEASURE,
                          "massif files tell live bytes over time and nothing else");
  return TIDE_ERR_OK;
}

enum tide_err tide_massif_write(struct tide_sink *sink, struct tide_view *view,
                                const struct tide_export_options *options, struct tide_diag *diag)
{
  struct writer w = {.sink = sink, .view = view, .image = view->profile->image};
  enum tide_err err = check_massif(view, options, diag);
  if (err)
    return err;
  find_wanted(&w);
  find_moments(&w);
  tide_export_stacks_init(&w.stacks, view, frame_text);
  read_stacks(&w);
  write_file(&w);
  for (size_t i = 0; i < w.n_own; i++)
    free(w.own[i].rows);
  tide_export_stacks_done(&w.stacks);
  free(w.wanted);
  free(w.moments);
  free(w.items);
  free(w.scratch);
  free(w.groups);
  free(w.group_of);
  free(w.node_of);
  free(w.lines);
  return TIDE_ERR_OK;
}
