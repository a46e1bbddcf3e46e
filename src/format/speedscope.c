// SPDX-License-Identifier: Apache-2.0
//
// speedscope's own JSON: one file with a profile per measure, which its viewer shows in turn.
//
// All are of its "sampled" kind, a list of stacks with a weight each. The other kind, "evented",
// opens and closes frames along a time axis: one stack at a time, as on a processor. A heap holds
// many at once, so there is no such order of them. What does have an order is allocating: where the
// snapshots count it, those profiles list their stacks as time went by, so that the viewer's "time
// order" shows what was allocated first and what later, in bytes from left to right. What was held
// at a moment has none, and is listed by weight.
//
// Snapshots are taken together so far that a profile has no more than some SAMPLES_WANTED samples
// and one for each stack.
//
// Profiles come before the frames they refer to, since those are known only then. Frames are
// functions of a file, without lines: the viewer would take each line for another function.
#include "format/exports.h"

#include "base/alloc.h"
#include "base/json.h"
#include "format/export_words.h"
#include "format/image_text.h"
#include "view/frame_names.h"

#include <stdlib.h>

enum { SAMPLES_WANTED = 20000 };
#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct writer {
  struct tide_view *view;
  struct tide_json json;
  struct tide_frame_names names; // name - 1 is the frame's number here
  uint64_t *weights;             // of the samples written, in their order
  size_t n_weights, cap_weights;
};

enum { FRAME_LOST, FRAME_HIDDEN, FRAME_FIRST }; // the first numbers are taken

static void write_sample(struct writer *w, size_t site_idx, uint64_t weight)
{
  const struct tide_profile_site *site = &w->view->profile->sites[site_idx];
  size_t n;
  const struct tide_view_frame *frames = tide_view_stack(w->view, site->stack, &n);
  tide_json_open_array(&w->json);
  if (n == 0)
    tide_json_u64(&w->json,
                  site->kind == TIDE_SITE_LOST || !site->stack ? FRAME_LOST : FRAME_HIDDEN);
  while (n-- > 0) {
    uint32_t at = tide_frame_names_add(&w->names, frames[n].frame);
    tide_json_u64(&w->json, w->names.frames[at].name - 1 + FRAME_FIRST);
  }
  tide_json_close_array(&w->json);
  TIDE_GROW(w->weights, w->n_weights, w->cap_weights);
  w->weights[w->n_weights++] = weight;
}

static void write_by_weight(struct writer *w, const struct tide_question *question)
{
  const struct tide_profile *profile = w->view->profile;
  TIDE_CLEANUP_FREE int64_t *weights = tide_alloc_array(profile->n_sites, sizeof *weights);
  tide_profile_weigh(profile, question, weights);
  for (size_t i = 0; i < profile->n_sites; i++)
    if (tide_view_has(w->view, i) && weights[i] > 0)
      write_sample(w, i, (uint64_t)weights[i]);
}

struct slices { // the snapshots of a window, a few at a time
  size_t first, past, n_together;
};

static struct slices slice(const struct tide_image *image, const struct tide_window *window)
{
  struct slices slices;
  size_t n_rows = 0;
  tide_window_snapshots(image, window, &slices.first, &slices.past);
  for (size_t s = slices.first; s < slices.past; s++)
    n_rows += image->snapshots[s].n_rows;
  slices.n_together = n_rows / SAMPLES_WANTED + 1;
  return slices;
}

static void add_counts(const struct tide_snapshot *snapshot, enum tide_unit unit, uint64_t *sums)
{
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row *row = &snapshot->rows[i];
    sums[row->stack] += unit == TIDE_UNIT_BYTES ? row->b_alloc : row->n_alloc;
  }
}

static void write_by_time(struct writer *w, const struct tide_question *question)
{
  const struct tide_profile *profile = w->view->profile;
  const struct tide_image *image = profile->image;
  struct slices slices = slice(image, &question->window);
  TIDE_CLEANUP_FREE uint64_t *sums = tide_alloc_array(image->n_frames, sizeof *sums);
  for (size_t s = slices.first; s < slices.past; s++) {
    add_counts(&image->snapshots[s], question->unit, sums);
    bool is_last = s + 1 == slices.past;
    if ((s - slices.first + 1) % slices.n_together && !is_last)
      continue;
    for (size_t i = 0; i < profile->n_sites; i++) {
      uint64_t *sum = &sums[profile->sites[i].stack];
      if (*sum && tide_view_has(w->view, i))
        write_sample(w, i, *sum);
      *sum = 0;
    }
  }
}

static bool is_in_order(const struct tide_image *image, const struct tide_question *question)
{
  return question->measure == TIDE_MEASURE_TOTAL && image->has_counts && image->n_snapshots;
}

static void write_profile(struct writer *w, const struct tide_question *question)
{
  TIDE_CLEANUP_FREE char *name = tide_export_measure(question);
  uint64_t sum = 0;
  w->n_weights = 0;
  tide_json_open_object(&w->json);
  tide_json_put_text(&w->json, "type", "sampled");
  tide_json_put_text(&w->json, "name", name);
  tide_json_put_text(&w->json, "unit", question->unit == TIDE_UNIT_BYTES ? "bytes" : "none");
  tide_json_key(&w->json, "samples");
  tide_json_open_array(&w->json);
  if (is_in_order(w->view->profile->image, question))
    write_by_time(w, question);
  else
    write_by_weight(w, question);
  tide_json_close_array(&w->json);
  tide_json_key(&w->json, "weights");
  tide_json_open_array(&w->json);
  for (size_t i = 0; i < w->n_weights; i++) {
    tide_json_u64(&w->json, w->weights[i]);
    sum += w->weights[i];
  }
  tide_json_close_array(&w->json);
  tide_json_put_u64(&w->json, "startValue", 0);
  tide_json_put_u64(&w->json, "endValue", sum);
  tide_json_close_object(&w->json);
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

static void write_frame(struct tide_json *json, const char *name, const char *file)
{
  tide_json_open_object(json);
  tide_json_put_text(json, "name", name);
  if (file)
    tide_json_put_text(json, "file", file);
  tide_json_close_object(json);
}

static void write_frames(struct writer *w)
{
  static const struct tide_profile_site lost = {0}, hidden = {.stack = 1};
  tide_json_open_array(&w->json);
  write_frame(&w->json, tide_export_no_frames(&lost), NULL);
  write_frame(&w->json, tide_export_no_frames(&hidden), NULL);
  for (uint32_t i = 1; i < w->names.n; i++) {
    const struct tide_named_frame *frame = w->names.items[i];
    TIDE_CLEANUP_FREE char *name = tide_export_frame_name(w->view->naming, frame);
    const char *module = tide_naming_module_path(w->view->naming, frame);
    write_frame(&w->json, name, frame->file ? frame->file : *module ? module : NULL);
  }
  tide_json_close_array(&w->json);
}

enum tide_err tide_speedscope_write(struct tide_sink *sink, struct tide_view *view,
                                    const struct tide_export_options *options,
                                    struct tide_diag *diag)
{
  struct writer w = {.view = view};
  TIDE_CLEANUP_FREE char *command = tide_image_command(view->profile->image);
  tide_json_init(&w.json, sink);
  tide_frame_names_init(&w.names, view->naming, false);
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
  tide_json_done(&w.json);
  tide_frame_names_done(&w.names);
  free(w.weights);
  return TIDE_ERR_OK;
}
