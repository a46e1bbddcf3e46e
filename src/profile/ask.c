// SPDX-License-Identifier: Apache-2.0
//
// Weighing the sites of a profile. Whole runs are answered from the cells' own numbers, which are
// exact; parts of a run from the snapshots.
#define _GNU_SOURCE
#include "profile/profile.h"

#include "base/alloc.h"
#include "profile/kept.h"

#include <stdlib.h>

// Per node of the trie, in the unit asked for; signed in meaning, modulo 2^64.
struct sums {
  uint64_t *of_node;
  bool in_bytes;
};

static void add_live(struct sums *sums, const struct tide_image *image,
                     const struct tide_point *point)
{
  if (point->snapshot == TIDE_POINT_START)
    return;
  const struct tide_snapshot *snapshot = &image->snapshots[point->snapshot];
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row *row = &snapshot->rows[i];
    sums->of_node[row->stack] += (uint64_t)(sums->in_bytes ? row->live_bytes : row->live_blocks);
  }
}

static void add_counts(struct sums *sums, const struct tide_image *image,
                       const struct tide_window *window)
{
  size_t first, past;
  tide_window_snapshots(image, window, &first, &past);
  for (size_t s = first; s < past; s++)
    for (size_t i = 0; i < image->snapshots[s].n_rows; i++) {
      const struct tide_snapshot_row *row = &image->snapshots[s].rows[i];
      sums->of_node[row->stack] += sums->in_bytes ? row->b_alloc : row->n_alloc;
    }
}

// What was allocated in a range and is held at its end, exactly: what more is held then than at the
// beginning, and as much again as went of what was held at the beginning.
static void weigh_grown_exactly(const struct tide_profile *profile,
                                const struct tide_question *question, int64_t *ret_weights)
{
  const struct tide_image *image = profile->image;
  const struct tide_point *from = &question->window.from, *to = &question->window.to;
  bool in_bytes = question->unit == TIDE_UNIT_BYTES;
  TIDE_CLEANUP_FREE uint64_t *before = tide_alloc_array(image->n_frames, sizeof *before);
  TIDE_CLEANUP_FREE uint64_t *after = tide_alloc_array(image->n_frames, sizeof *after);
  add_live(&(struct sums){before, in_bytes}, image, from);
  add_live(&(struct sums){after, in_bytes}, image, to);
  for (size_t i = 0; i < image->n_late_frees; i++) {
    const struct tide_late_free *late = &image->late_frees[i];
    if (late->born <= from->snapshot && late->freed > from->snapshot && late->freed <= to->snapshot)
      after[late->stack] += in_bytes ? late->bytes : late->n_blocks;
  }
  for (size_t i = 0; i < profile->n_sites; i++) {
    uint32_t stack = profile->sites[i].stack;
    ret_weights[i] = (int64_t)(after[stack] - before[stack]);
  }
}

// The same where single blocks are not known: at least what the stack holds at the end beyond the
// least it held at any look since the beginning. What was there before can be no more than that
// least, so this never overstates, and is exact where nothing from before was freed, or all of it.
struct span {
  uint64_t now;
  int64_t least;
  size_t n_looks, looked; // how many looks found something, and which was the last
};

static void look(struct span *of_node, const struct tide_image *image, size_t at, bool in_bytes)
{
  const struct tide_snapshot *snapshot = &image->snapshots[at];
  for (size_t i = 0; i < snapshot->n_rows; i++)
    of_node[snapshot->rows[i].stack].now = 0;
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row *row = &snapshot->rows[i];
    of_node[row->stack].now += (uint64_t)(in_bytes ? row->live_bytes : row->live_blocks);
  }
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    struct span *span = &of_node[snapshot->rows[i].stack];
    int64_t now = (int64_t)span->now;
    if (!span->n_looks || now < span->least)
      span->least = now;
    span->n_looks += span->looked != at + 1;
    span->looked = at + 1;
  }
}

static void weigh_grown_at_least(const struct tide_profile *profile,
                                 const struct tide_question *question, int64_t *ret_weights)
{
  const struct tide_image *image = profile->image;
  size_t first = question->window.from.snapshot, last = question->window.to.snapshot;
  TIDE_CLEANUP_FREE struct span *of_node = tide_alloc_array(image->n_frames, sizeof *of_node);
  for (size_t s = first; s <= last; s++)
    look(of_node, image, s, question->unit == TIDE_UNIT_BYTES);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct span *span = &of_node[profile->sites[i].stack];
    bool always = span->n_looks == last - first + 1;
    uint64_t held = span->looked == last + 1 ? span->now : 0;
    ret_weights[i] = (int64_t)(held - (always ? (uint64_t)span->least : 0));
  }
}

static void weigh_window(const struct tide_profile *profile, const struct tide_question *question,
                         int64_t *ret_weights)
{
  const struct tide_image *image = profile->image;
  const struct tide_window *window = &question->window;
  TIDE_CLEANUP_FREE uint64_t *of_node = tide_alloc_array(image->n_frames, sizeof *of_node);
  struct sums sums = {of_node, question->unit == TIDE_UNIT_BYTES};
  if (question->measure == TIDE_MEASURE_TOTAL)
    add_counts(&sums, image, window);
  else
    add_live(&sums, image, &window->to);
  for (size_t i = 0; i < profile->n_sites; i++)
    ret_weights[i] = (int64_t)of_node[profile->sites[i].stack];
}

int64_t tide_profile_weight(const struct tide_profile_site *site,
                            const struct tide_question *question)
{
  bool in_bytes = question->unit == TIDE_UNIT_BYTES;
  switch (question->measure) {
  case TIDE_MEASURE_PEAK:
    if (question->of_pages)
      return site->high_bytes;
    return in_bytes ? site->peak_bytes : site->peak_blocks;
  case TIDE_MEASURE_LIVE:
  case TIDE_MEASURE_GROWN: // from nothing to the end
  case TIDE_MEASURE_LEAK: return in_bytes ? site->live_bytes : site->live_blocks;
  case TIDE_MEASURE_TOTAL: return (int64_t)(in_bytes ? site->b_alloc : site->n_alloc);
  case TIDE_MEASURE_TEMP: return (int64_t)(in_bytes ? site->b_temp : site->n_temp);
  case TIDE_MEASURES_N: break;
  }
  return 0;
}

static int falling(int64_t a, int64_t b)
{
  return (a < b) - (a > b);
}

static int compare(const void *left, const void *right)
{
  const struct tide_profile_site *a = left, *b = right;
  int order = (a->kind == TIDE_SITE_PAGES) - (b->kind == TIDE_SITE_PAGES);
  if (!order)
    order = falling(a->weight, b->weight);
  if (!order)
    order = falling((int64_t)a->b_alloc, (int64_t)b->b_alloc);
  if (!order)
    order = falling((int64_t)a->n_alloc, (int64_t)b->n_alloc);
  return order ? order : (a->stack > b->stack) - (a->stack < b->stack);
}

void tide_profile_weigh(const struct tide_profile *profile, const struct tide_question *question,
                        int64_t *ret_weights)
{
  const struct tide_window *window = &question->window;
  bool of_part = window->from.given || window->to.given;
  bool from_start = !window->from.given || window->from.snapshot == TIDE_POINT_START;
  if (of_part && question->measure == TIDE_MEASURE_GROWN && !from_start) {
    if (tide_question_is_bound(profile->image, question))
      weigh_grown_at_least(profile, question, ret_weights);
    else
      weigh_grown_exactly(profile, question, ret_weights);
  } else if (of_part && question->measure == TIDE_MEASURE_LEAK) {
    tide_kept_weigh(profile, question, ret_weights);
  } else if (of_part) {
    weigh_window(profile, question, ret_weights);
  } else {
    for (size_t i = 0; i < profile->n_sites; i++)
      ret_weights[i] = tide_profile_weight(&profile->sites[i], question);
  }
}

void tide_profile_ask(struct tide_profile *profile, const struct tide_question *question)
{
  TIDE_CLEANUP_FREE int64_t *weights = tide_alloc_array(profile->n_sites, sizeof *weights);
  tide_profile_weigh(profile, question, weights);
  for (size_t i = 0; i < profile->n_sites; i++)
    profile->sites[i].weight = weights[i];
  profile->question = *question;
  profile->whole = 0;
  if (question->measure == TIDE_MEASURE_PEAK && question->unit == TIDE_UNIT_BYTES &&
      !question->of_pages)
    profile->whole = profile->image->peak_bytes; // what the report calls the peak
  else
    for (size_t i = 0; i < profile->n_sites; i++)
      if (tide_question_is_about(question, profile->sites[i].kind))
        profile->whole += profile->sites[i].weight;
  if (profile->n_sites)
    qsort(profile->sites, profile->n_sites, sizeof *profile->sites, compare);
}
