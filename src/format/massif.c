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
// The tree of all stacks is made once; for each snapshot it is weighed anew.
#define _GNU_SOURCE
#include "format/exports.h"

#include "base/alloc.h"
#include "base/intern.h"
#include "base/utf8.h"
#include "format/image_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN "???"
#define ADDRESSES_N (INT64_C(1) << 47)
enum { MAX_DEPTH = 500, FOLD_PERCENT = 1 };

struct node_key {                       // no padding: hashed as bytes
  const struct tide_named_frame *frame; // NULL: root, or no stack
  uint64_t parent;
};

struct node {
  uint32_t first_child, n_children; // in writer.children
  int64_t bytes;                    // in the snapshot at hand
};

struct moment {
  uint64_t time_ns;
  int64_t bytes;
  const struct tide_snapshot *snapshot; // NULL: only the size is known
  size_t number;                        // in the order they came
};

struct line { // of a tree, to be written
  uint32_t node, depth;
  uint32_t n_folded; // not 0: so many places are told together
  int64_t bytes;
};

struct writer {
  struct tide_sink *sink;
  struct tide_view *view;
  const struct tide_image *image;
  uint8_t *wanted;             // per node of the trie: a stack of the view
  struct tide_snapshot own[2]; // peak and end of an image that came without snapshots
  size_t n_own;
  struct moment *moments;
  size_t n_moments, cap_moments, peak;
  struct tide_intern keys; // of the tree's nodes; [0] is the root, parents come before children
  struct node *nodes;
  uint32_t *children;
  uint32_t *node_of; // per node of the trie: where the stack ends in the tree + 1
  struct line *lines;
  size_t n_lines, cap_lines;
};

// Numbers of a damaged file may be anything: no stack holds more than there are addresses, and sums
// do not overflow.
static int64_t sane(int64_t bytes)
{
  return bytes < 0 ? 0 : bytes < ADDRESSES_N ? bytes : ADDRESSES_N;
}

static int64_t plus(int64_t a, int64_t b)
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
  for (size_t i = 0; i < snapshot->n_rows; i++)
    if (w->wanted[snapshot->rows[i].stack])
      sum = plus(sum, sane(snapshot->rows[i].live_bytes));
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
    int64_t bytes = kind == TIDE_SNAPSHOT_PEAK ? site->peak_bytes : site->live_bytes;
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
    add_moment(w, (struct moment){image->ticks[i].time_ns, sane(image->ticks[i].live_bytes), NULL});
  for (size_t i = 0; i < image->n_snapshots; i++)
    add_moment(w, (struct moment){image->snapshots[i].time_ns,
                                  sum_snapshot(w, &image->snapshots[i]), &image->snapshots[i]});
  if (!(image->lacks & TIDE_LACK_PEAK))
    make_snapshot(w, TIDE_SNAPSHOT_PEAK, image->peak_ns);
  if (!(image->lacks & TIDE_LACK_LIVE))
    make_snapshot(w, TIDE_SNAPSHOT_END, image->end_ns);
  if (w->n_moments)
    qsort(w->moments, w->n_moments, sizeof *w->moments, by_time);
  leave_out_repeated(w);
  find_peak(w);
  leave_out_impossible(w);
}

static uint32_t add_stack(struct writer *w, uint32_t stack)
{
  size_t n;
  const struct tide_view_frame *frames = tide_view_stack(w->view, stack, &n);
  struct node_key key = {NULL, 0};
  if (n == 0)
    key.parent = tide_intern_add(&w->keys, &key, sizeof key) + 1; // a child without a frame
  for (size_t i = 0; i < n && i < MAX_DEPTH; i++) {
    key.frame = frames[i].frame;
    key.parent = tide_intern_add(&w->keys, &key, sizeof key) + 1;
  }
  return (uint32_t)key.parent;
}

static const struct node_key *key_of(const struct writer *w, uint32_t node)
{
  size_t n;
  return tide_intern_get(&w->keys, node - 1, &n);
}

// Children side by side, by counting; a node's number is that of its key + 1, the root's is 0.
static void join_children(struct writer *w)
{
  uint32_t n = (uint32_t)w->keys.n + 1;
  w->nodes = tide_alloc_array(n, sizeof *w->nodes);
  w->children = tide_alloc_array(n, sizeof *w->children);
  for (uint32_t i = 1; i < n; i++)
    w->nodes[key_of(w, i)->parent].n_children++;
  for (uint32_t i = 1; i < n; i++)
    w->nodes[i].first_child = w->nodes[i - 1].first_child + w->nodes[i - 1].n_children;
  for (uint32_t i = 0; i < n; i++)
    w->nodes[i].n_children = 0;
  for (uint32_t i = 1; i < n; i++) {
    struct node *parent = &w->nodes[key_of(w, i)->parent];
    w->children[parent->first_child + parent->n_children++] = i;
  }
}

static void make_tree(struct writer *w)
{
  w->node_of = tide_alloc_array(w->image->n_frames, sizeof *w->node_of);
  for (size_t m = 0; m < w->n_moments; m++) {
    const struct tide_snapshot *snapshot = w->moments[m].snapshot;
    for (size_t i = 0; snapshot && i < snapshot->n_rows; i++) {
      uint32_t stack = snapshot->rows[i].stack;
      if (w->wanted[stack] && snapshot->rows[i].live_bytes > 0 && !w->node_of[stack])
        w->node_of[stack] = add_stack(w, stack);
    }
  }
  join_children(w);
}

static void weigh_tree(struct writer *w, const struct tide_snapshot *snapshot)
{
  uint32_t n = (uint32_t)w->keys.n + 1;
  for (uint32_t i = 0; i < n; i++)
    w->nodes[i].bytes = 0;
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row *row = &snapshot->rows[i];
    if (w->wanted[row->stack] && row->live_bytes > 0) {
      struct node *node = &w->nodes[w->node_of[row->stack]];
      node->bytes = plus(node->bytes, sane(row->live_bytes));
    }
  }
  for (uint32_t i = n; i-- > 1;) {
    struct node *parent = &w->nodes[key_of(w, i)->parent];
    parent->bytes = plus(parent->bytes, w->nodes[i].bytes);
  }
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
  return a->node < b->node ? 1 : -1;
}

// Puts the children of a node on the stack of lines, the first one uppermost; gives their number.
static size_t push_children(struct writer *w, uint32_t node_idx, uint32_t depth)
{
  const struct node *node = &w->nodes[node_idx];
  int64_t heap = w->nodes[0].bytes;
  int64_t least = heap / 100 * FOLD_PERCENT + (heap % 100 * FOLD_PERCENT + 99) / 100;
  struct line folded = {.depth = depth};
  size_t before = w->n_lines;
  push_line(w, folded);
  for (uint32_t i = 0; i < node->n_children; i++) {
    uint32_t child = w->children[node->first_child + i];
    int64_t bytes = w->nodes[child].bytes;
    if (bytes >= least && bytes > 0) {
      push_line(w, (struct line){child, depth, 0, bytes});
    } else if (bytes > 0) {
      folded.n_folded++;
      folded.bytes += bytes;
    }
  }
  w->lines[before] = folded; // told last
  if (w->n_lines > before + 2)
    qsort(w->lines + before + 1, w->n_lines - before - 1, sizeof *w->lines, by_size);
  if (!folded.n_folded)
    memmove(w->lines + before, w->lines + before + 1, (--w->n_lines - before) * sizeof *w->lines);
  return w->n_lines - before;
}

static void write_clean(struct writer *w, const char *text)
{
  TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(text, true);
  for (char *c = clean; (c = strchr(c, '#'));)
    *c = '@';
  tide_sink_text(w->sink, clean);
}

static void write_frame(struct writer *w, const struct tide_named_frame *frame)
{
  if (!frame || frame->flags & TIDE_FRAME_CUT) {
    tide_sink_printf(w->sink, "0x0: %s (in %s)",
                     frame ? "[frames left out]" : "[stack not recorded]", UNKNOWN);
    return;
  }
  tide_sink_printf(w->sink, "0x%" PRIX64 ": ", frame->pc);
  write_clean(w, frame->function ? frame->function : UNKNOWN);
  const char *module = tide_naming_module_path(w->view->naming, frame);
  tide_sink_text(w->sink, frame->file ? " (" : " (in ");
  write_clean(w, frame->file ? frame->file : *module ? module : UNKNOWN);
  if (frame->file)
    tide_sink_printf(w->sink, ":%" PRIu32, frame->line);
  tide_sink_text(w->sink, ")");
}

static void write_line(struct writer *w, const struct line *line, size_t n_children)
{
  tide_sink_repeat(w->sink, ' ', line->depth);
  tide_sink_printf(w->sink, "n%zu: %" PRId64 " ", n_children, line->bytes);
  if (line->n_folded)
    tide_sink_printf(w->sink, "in %" PRIu32 " place%s below massif's threshold (%d.00%%)",
                     line->n_folded, line->n_folded == 1 ? "," : "s, all", FOLD_PERCENT);
  else if (line->node == 0)
    tide_sink_text(w->sink, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
  else
    write_frame(w, key_of(w, line->node)->frame);
  tide_sink_text(w->sink, "\n");
}

static void write_tree(struct writer *w, const struct tide_snapshot *snapshot)
{
  weigh_tree(w, snapshot);
  w->n_lines = 0;
  push_line(w, (struct line){.bytes = w->nodes[0].bytes});
  while (w->n_lines) {
    struct line line = w->lines[--w->n_lines];
    size_t n = line.n_folded ? 0 : push_children(w, line.node, line.depth + 1);
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

static void write_file(struct writer *w)
{
  TIDE_CLEANUP_FREE char *command = tide_image_command(w->image);
  const char *only = tide_image_argument(w->image, 0); // a file of massif's has it all in one
  tide_sink_text(w->sink, "desc: recorded by ");
  write_clean(w, w->image->origin ? w->image->origin : "tidemark");
  tide_sink_text(w->sink, "\ncmd: ");
  if (only && !tide_image_argument(w->image, 1))
    write_clean(w, only);
  else
    write_clean(w, *command ? command : tide_image_program(w->image));
  tide_sink_text(w->sink, has_clock(w) ? "\ntime_unit: ms\n" : "\ntime_unit: i\n");
  for (size_t i = 0; i < w->n_moments; i++)
    write_moment(w, i);
}

static enum tide_err check(const struct tide_view *view, const struct tide_export_options *options,
                           struct tide_diag *diag)
{
  const struct tide_question *question = &view->profile->question;
  const struct tide_image *image = view->profile->image;
  bool is_whole = !question->window.from.given && !question->window.to.given;
  bool is_live = question->measure == TIDE_MEASURE_PEAK || question->measure == TIDE_MEASURE_LIVE;
  if (image->lacks & TIDE_LACK_PEAK && image->lacks & TIDE_LACK_LIVE && !image->n_snapshots)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "massif files tell what was live over time, which this capture does not hold");
  if (options->measure_said && (question->unit != TIDE_UNIT_BYTES || (is_whole && !is_live)))
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "massif files tell live bytes over time and nothing else: leave out --sort "
                     "and --by");
  return TIDE_ERR_OK;
}

enum tide_err tide_massif_write(struct tide_sink *sink, struct tide_view *view,
                                const struct tide_export_options *options, struct tide_diag *diag)
{
  struct writer w = {.sink = sink, .view = view, .image = view->profile->image};
  enum tide_err err = check(view, options, diag);
  if (err)
    return err;
  find_wanted(&w);
  find_moments(&w);
  make_tree(&w);
  write_file(&w);
  for (size_t i = 0; i < w.n_own; i++)
    free(w.own[i].rows);
  tide_intern_done(&w.keys);
  free(w.wanted);
  free(w.moments);
  free(w.nodes);
  free(w.children);
  free(w.node_of);
  free(w.lines);
  return TIDE_ERR_OK;
}
