// SPDX-License-Identifier: Apache-2.0
//
// speedscope's own JSON: one file with a profile per measure, which its viewer shows in turn.
//
// What a measure says of the run is of its "sampled" kind, a list of stacks with a weight each.
// Where it is known what was allocated when (profile/timeline.h) a second profile, of the "evented"
// kind, opens and closes frames from left to right as time went by. A heap is no processor that
// runs one stack at a time, so the axis is not time but what is measured, as with massif's time
// unit B: bytes allocated so far, or bytes held by when they were allocated. Outermost is the part
// of the run; parts are about as wide as each other, so that what is said of them can be read. Each
// part repeats the stacks, so those beyond some PART_STACKS_MAX are gathered as "[other]" there.
//
// Within a profile, and within a part, stacks are as in a flame graph, the weightiest first: the
// viewer begins with the order it finds.
//
// Profiles come before the frames they refer to, since those are known only then. Frames are
// functions of a file, without lines: the viewer would take each line for another function.
#include "export/exports.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/units.h"
#include "export/export_stacks.h"
#include "profile/timeline.h"
#include "report/export_words.h"
#include "view/frame_names.h"
#include "words/image_text.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 16, PART_STACKS_MAX = 10000 };
#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct frame { // one of the file's: either
  uint32_t name;
  char *text; // owned
};

struct stack { // of the profile being written
  size_t site_idx;
  uint32_t node, rank;
  uint64_t weight;
};

struct writer {
  struct tide_view *view;
  struct tide_json json;
  struct tide_frame_names names;
  struct frame *frames;
  size_t n_frames, cap_frames;
  uint32_t *frame_of_name; // its number + 1; 0: none yet
  size_t n_frame_of_name;
  struct tide_stack_order order;
  uint32_t *node_of_site; // 0: not met yet
  struct stack *stacks;   // in the order they are written in
  size_t n_stacks;
  // Of events:
  uint32_t part, node; // open: the frame of the part + 1, and what is inside; 0: none
  uint32_t other;      // the node of stacks that weigh less than
  uint64_t least;
  uint64_t at;
  uint32_t *path;
  size_t cap_path;
};

static uint32_t add_text_frame(struct writer *w, char *text)
{
  TIDE_GROW(w->frames, w->n_frames, w->cap_frames);
  w->frames[w->n_frames] = (struct frame){.text = text};
  return (uint32_t)w->n_frames++;
}

static uint32_t frame_of(struct writer *w, const struct tide_named_frame *frame)
{
  uint32_t at = tide_frame_names_add(&w->names, frame), name = w->names.frames[at].name;
  if (name >= w->n_frame_of_name) {
    size_t n = 2 * (size_t)name + 64, before = w->n_frame_of_name;
    w->frame_of_name = tide_realloc_array(w->frame_of_name, n, sizeof *w->frame_of_name);
    memset(w->frame_of_name + before, 0, (n - before) * sizeof *w->frame_of_name);
    w->n_frame_of_name = n;
  }
  if (!w->frame_of_name[name]) {
    TIDE_GROW(w->frames, w->n_frames, w->cap_frames);
    w->frames[w->n_frames++] = (struct frame){.name = name};
    w->frame_of_name[name] = (uint32_t)w->n_frames;
  }
  return w->frame_of_name[name] - 1;
}

enum { FRAME_LOST, FRAME_HIDDEN }; // the first numbers are taken

static uint32_t node_of(struct writer *w, size_t site_idx)
{
  const struct tide_profile_site *site = &w->view->profile->sites[site_idx];
  uint32_t *node = &w->node_of_site[site_idx];
  if (*node)
    return *node;
  size_t n;
  const struct tide_view_frame *frames = tide_view_stack(w->view, site->stack, &n);
  bool is_lost = site->kind == TIDE_SITE_LOST || !site->stack;
  if (n == 0)
    *node = tide_stack_order_enter(&w->order, 0, is_lost ? FRAME_LOST : FRAME_HIDDEN);
  while (n-- > 0)
    *node = tide_stack_order_enter(&w->order, *node, frame_of(w, frames[n].frame));
  return *node;
}

static int compare_stacks(const void *left, const void *right)
{
  const struct stack *a = left, *b = right;
  int order = (a->rank > b->rank) - (a->rank < b->rank);
  return order ? order : (a->site_idx > b->site_idx) - (a->site_idx < b->site_idx);
}

// What answers a question, as a tree would have it.
static void find_stacks(struct writer *w, const struct tide_question *question)
{
  const struct tide_profile *profile = w->view->profile;
  TIDE_CLEANUP_FREE int64_t *weights = tide_alloc_array(profile->n_sites, sizeof *weights);
  tide_profile_weigh(profile, question, weights);
  w->n_stacks = 0;
  for (size_t i = 0; i < profile->n_sites; i++)
    if (tide_view_has(w->view, i) && weights[i] > 0)
      w->stacks[w->n_stacks++] = (struct stack){i, node_of(w, i), 0, (uint64_t)weights[i]};
  TIDE_CLEANUP_FREE uint64_t *of_node = tide_alloc_array(w->order.n_nodes + 1, sizeof *of_node);
  for (size_t i = 0; i < w->n_stacks; i++)
    of_node[w->stacks[i].node] += w->stacks[i].weight;
  TIDE_CLEANUP_FREE uint32_t *ranks = tide_stack_order_ranks(&w->order, of_node);
  for (size_t i = 0; i < w->n_stacks; i++)
    w->stacks[i].rank = ranks[w->stacks[i].node];
  if (w->n_stacks)
    qsort(w->stacks, w->n_stacks, sizeof *w->stacks, compare_stacks);
}

// The frames of a node, the outermost first; valid until the next call.
static const uint32_t *path_of(struct writer *w, uint32_t node, size_t *ret_n)
{
  size_t n = w->order.nodes[node].depth;
  if (n > w->cap_path) {
    w->cap_path = 2 * n;
    w->path = tide_realloc_array(w->path, w->cap_path, sizeof *w->path);
  }
  for (size_t i = n; i-- > 0; node = w->order.nodes[node].outer)
    w->path[i] = w->order.nodes[node].frame;
  *ret_n = n;
  return w->path;
}

static void open_profile(struct writer *w, const char *type, const char *name,
                         const struct tide_question *question)
{
  tide_json_open_object(&w->json);
  tide_json_put_text(&w->json, "type", type);
  tide_json_put_text(&w->json, "name", name);
  tide_json_put_text(&w->json, "unit", question->unit == TIDE_UNIT_BYTES ? "bytes" : "none");
}

static void close_profile(struct writer *w, uint64_t end)
{
  tide_json_put_u64(&w->json, "startValue", 0);
  tide_json_put_u64(&w->json, "endValue", end);
  tide_json_close_object(&w->json);
}

static void write_sampled(struct writer *w, const char *name, const struct tide_question *question)
{
  uint64_t sum = 0;
  open_profile(w, "sampled", name, question);
  tide_json_key(&w->json, "samples");
  tide_json_open_array(&w->json);
  for (size_t i = 0; i < w->n_stacks; i++) {
    size_t n;
    const uint32_t *path = path_of(w, w->stacks[i].node, &n);
    tide_json_open_array(&w->json);
    for (size_t k = 0; k < n; k++)
      tide_json_u64(&w->json, path[k]);
    tide_json_close_array(&w->json);
  }
  tide_json_close_array(&w->json);
  tide_json_key(&w->json, "weights");
  tide_json_open_array(&w->json);
  for (size_t i = 0; i < w->n_stacks; i++) {
    tide_json_u64(&w->json, w->stacks[i].weight);
    sum += w->stacks[i].weight;
  }
  tide_json_close_array(&w->json);
  close_profile(w, sum);
}

static void write_event(struct writer *w, const char *type, uint32_t frame)
{
  tide_json_open_object(&w->json);
  tide_json_put_text(&w->json, "type", type);
  tide_json_put_u64(&w->json, "frame", frame);
  tide_json_put_u64(&w->json, "at", w->at);
  tide_json_close_object(&w->json);
}

// From the stack that is open to another one, 0: none; what both begin with stays open.
static void move_to(struct writer *w, uint32_t node)
{
  const struct tide_order_node *nodes = w->order.nodes;
  uint32_t shared = node;
  size_t n;
  while (nodes[shared].depth > nodes[w->node].depth)
    shared = nodes[shared].outer;
  for (; w->node != shared; w->node = nodes[w->node].outer) {
    if (nodes[w->node].depth == nodes[shared].depth)
      shared = nodes[shared].outer;
    write_event(w, "C", nodes[w->node].frame);
  }
  const uint32_t *path = path_of(w, node, &n);
  for (size_t i = nodes[shared].depth; i < n; i++)
    write_event(w, "O", path[i]);
  w->node = node;
}

static void enter_part(struct writer *w, uint32_t part)
{
  if (w->order.n_nodes)
    move_to(w, 0);
  if (w->part)
    write_event(w, "C", w->part - 1);
  if (part)
    write_event(w, "O", part - 1);
  w->part = part;
}

static uint64_t since_start(const struct tide_image *image, size_t snapshot)
{
  uint64_t time_ns = image->snapshots[snapshot].time_ns;
  return time_ns > image->start_ns ? time_ns - image->start_ns : 0;
}

// Short, since the box of it may be: 0–36 ms, 963 ms – 1.02 s.
static char *part_text(const struct tide_births *births, size_t first, size_t last)
{
  char from[TIDE_UNITS_MAX] = "0", to[TIDE_UNITS_MAX];
  tide_units_time(to, since_start(births->image, last), true);
  if (first)
    tide_units_time(from, since_start(births->image, first - 1), true);
  char *from_unit = strchr(from, ' '), *to_unit = strchr(to, ' ');
  if (from_unit && to_unit && strcmp(from_unit, to_unit) == 0)
    *from_unit = 0;
  return tide_sprintf(from_unit && *from_unit ? "%s – %s" : "%s–%s", from, to);
}

static void write_part(struct writer *w, const char *text, uint64_t *sums)
{
  const struct tide_profile *profile = w->view->profile;
  uint64_t other = 0;
  uint32_t part = 0;
  for (size_t i = 0; i <= w->n_stacks; i++) {
    const struct stack *stack = i < w->n_stacks ? &w->stacks[i] : NULL;
    uint64_t *sum = stack ? &sums[profile->sites[stack->site_idx].stack] : &other;
    bool is_small = stack && stack->weight < w->least;
    if ((int64_t)*sum > 0 && is_small) {
      other += *sum;
    } else if ((int64_t)*sum > 0) {
      if (!part)
        enter_part(w, part = add_text_frame(w, tide_strdup(text)) + 1);
      move_to(w, stack ? stack->node : w->other);
      w->at += *sum;
    }
    *sum = 0;
  }
}

static int by_falling_weight(const void *left, const void *right)
{
  const uint64_t *a = left, *b = right;
  return (*a < *b) - (*a > *b);
}

// What a stack must weigh to be written by itself.
static void find_least(struct writer *w)
{
  w->least = 0;
  if (w->n_stacks <= PART_STACKS_MAX)
    return;
  TIDE_CLEANUP_FREE uint64_t *weights = tide_alloc_array(w->n_stacks, sizeof *weights);
  for (size_t i = 0; i < w->n_stacks; i++)
    weights[i] = w->stacks[i].weight;
  qsort(weights, w->n_stacks, sizeof *weights, by_falling_weight);
  w->least = weights[PART_STACKS_MAX] + 1;
  w->other = tide_stack_order_enter(&w->order, 0, add_text_frame(w, tide_strdup("[other]")));
}

// About as much in each part as in the others; snapshots are not divided.
static void write_parts(struct writer *w, const struct tide_births *births, const uint8_t *wanted)
{
  TIDE_CLEANUP_FREE uint64_t *sums = tide_alloc_array(births->image->n_frames, sizeof *sums);
  size_t first = births->first;
  uint64_t whole = 0, so_far = 0, n_done = 0;
  for (size_t s = births->first; s < births->past; s++)
    whole += tide_births_add(births, s, wanted, sums);
  memset(sums, 0, births->image->n_frames * sizeof *sums);
  for (size_t s = births->first; s < births->past; s++) {
    so_far += tide_births_add(births, s, wanted, sums);
    bool is_full = (double)so_far * PARTS_MAX >= (double)(n_done + 1) * (double)whole;
    if (s + 1 < births->past && !is_full)
      continue;
    TIDE_CLEANUP_FREE char *text = part_text(births, first, s);
    write_part(w, text, sums);
    n_done = whole ? (uint64_t)((double)so_far * PARTS_MAX / (double)whole) : 0;
    first = s + 1;
  }
}

static void write_evented(struct writer *w, const char *name, const struct tide_question *question)
{
  const struct tide_profile *profile = w->view->profile;
  struct tide_births births;
  if (profile->image->lacks & TIDE_LACK_CLOCK || !w->n_stacks ||
      !tide_births_init(&births, profile->image, question))
    return;
  TIDE_CLEANUP_FREE uint8_t *wanted = tide_alloc_array(profile->image->n_frames, 1);
  for (size_t i = 0; i < w->n_stacks; i++)
    wanted[profile->sites[w->stacks[i].site_idx].stack] = 1;
  bool of_all = question->measure == TIDE_MEASURE_TOTAL;
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("%s, %s", name, of_all ? "over time" : "in order of allocation");
  w->at = 0;
  find_least(w);
  open_profile(w, "evented", text, question);
  tide_json_key(&w->json, "events");
  tide_json_open_array(&w->json);
  write_parts(w, &births, wanted);
  enter_part(w, 0);
  tide_json_close_array(&w->json);
  close_profile(w, w->at);
  tide_births_done(&births);
}

static void write_profile(struct writer *w, const struct tide_question *question)
{
  TIDE_CLEANUP_FREE char *name = tide_export_measure(question);
  find_stacks(w, question);
  write_sampled(w, name, question);
  write_evented(w, name, question);
}

// What was asked for or, when nothing was, all that is worth looking at.
static void write_profiles(struct writer *w, bool said)
{
  static const struct tide_question all[] = {
      {TIDE_MEASURE_PEAK, TIDE_UNIT_BYTES, {{0}, {0}}},
      {TIDE_MEASURE_LIVE, TIDE_UNIT_BYTES, {{0}, {0}}},
      {TIDE_MEASURE_TOTAL, TIDE_UNIT_BYTES, {{0}, {0}}},
      {TIDE_MEASURE_TOTAL, TIDE_UNIT_BLOCKS, {{0}, {0}}},
      {TIDE_MEASURE_TEMP, TIDE_UNIT_BLOCKS, {{0}, {0}}},
  };
  const struct tide_profile *profile = w->view->profile;
  bool has_blocks = !(profile->image->lacks & TIDE_LACK_BLOCKS);
  if (said) {
    write_profile(w, &profile->question);
    return;
  }
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (tide_measure_is_held(profile->image, all[i].measure) &&
        (all[i].unit == TIDE_UNIT_BYTES || has_blocks))
      write_profile(w, &all[i]);
}

static void write_frame(struct writer *w, const struct frame *frame)
{
  tide_json_open_object(&w->json);
  if (frame->text) {
    tide_json_put_text(&w->json, "name", frame->text);
  } else {
    const struct tide_named_frame *named = w->names.items[frame->name];
    TIDE_CLEANUP_FREE char *name = tide_export_frame_name(w->view->naming, named);
    const char *module = tide_naming_module_path(w->view->naming, named);
    const char *file = named->file ? named->file : *module ? module : NULL;
    tide_json_put_text(&w->json, "name", name);
    if (file)
      tide_json_put_text(&w->json, "file", file);
  }
  tide_json_close_object(&w->json);
}

static void write_frames(struct writer *w)
{
  tide_json_open_array(&w->json);
  for (size_t i = 0; i < w->n_frames; i++)
    write_frame(w, &w->frames[i]);
  tide_json_close_array(&w->json);
}

static void writer_init(struct writer *w, struct tide_view *view, struct tide_sink *sink)
{
  static const struct tide_profile_site lost = {0}, hidden = {.stack = 1};
  *w = (struct writer){.view = view};
  tide_json_init(&w->json, sink);
  tide_frame_names_init(&w->names, view->naming, false);
  w->node_of_site = tide_alloc_array(view->profile->n_sites, sizeof *w->node_of_site);
  w->stacks = tide_alloc_array(view->profile->n_sites, sizeof *w->stacks);
  add_text_frame(w, tide_strdup(tide_export_no_frames(&lost)));
  add_text_frame(w, tide_strdup(tide_export_no_frames(&hidden)));
}

static void writer_done(struct writer *w)
{
  tide_json_done(&w->json);
  tide_frame_names_done(&w->names);
  tide_stack_order_done(&w->order);
  for (size_t i = 0; i < w->n_frames; i++)
    free(w->frames[i].text);
  free(w->frames);
  free(w->frame_of_name);
  free(w->node_of_site);
  free(w->stacks);
  free(w->path);
}

enum tide_err tide_speedscope_write(struct tide_sink *sink, struct tide_view *view,
                                    const struct tide_export_options *options,
                                    struct tide_diag *diag)
{
  struct writer w;
  TIDE_CLEANUP_FREE char *bare = tide_image_command(view->profile->image);
  TIDE_CLEANUP_FREE char *command = tide_export_with_exactness(bare, view->profile);
  writer_init(&w, view, sink);
  tide_json_open_object(&w.json);
  tide_json_put_text(&w.json, "$schema", SCHEMA);
  tide_json_put_text(&w.json, "exporter", "tidemark");
  tide_json_put_text(&w.json, "name", command);
  tide_json_put_u64(&w.json, "activeProfileIndex", 0);
  tide_json_key(&w.json, "profiles");
  tide_json_open_array(&w.json);
  write_profiles(&w, options->measure_said);
  tide_json_close_array(&w.json);
  tide_json_key(&w.json, "shared");
  tide_json_open_object(&w.json);
  tide_json_key(&w.json, "frames");
  write_frames(&w);
  tide_json_close_object(&w.json);
  tide_json_close_object(&w.json);
  writer_done(&w);
  return TIDE_ERR_OK;
}
