// SPDX-License-Identifier: Apache-2.0
//
// Weighing the sites of a profile. Whole runs are answered from the cells' own numbers, which are
// exact; parts of a run from the snapshots.
#define _GNU_SOURCE
#include "profile/profile.h"

#include "base/alloc.h"

#include <stdlib.h>

// Per node of the trie, in the unit asked for; signed in meaning, modulo 2^64.
struct sums {
  uint64_t *of_node;
  bool in_bytes;
};

static void add_live(struct sums *sums, const struct tide_image *image,
                     const struct tide_point *point, bool negative)
{
  if (point->snapshot == TIDE_POINT_START)
    return;
  const struct tide_snapshot *snapshot = &image->snapshots[point->snapshot];
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row *row = &snapshot->rows[i];
    uint64_t live = (uint64_t)(sums->in_bytes ? row->live_bytes : row->live_blocks);
    sums->of_node[row->stack] += negative ? -live : live;
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
    add_live(&sums, image, &window->to, false);
  if (question->measure == TIDE_MEASURE_GROWN && window->from.given)
    add_live(&sums, image, &window->from, true);
  for (size_t i = 0; i < profile->n_sites; i++)
    ret_weights[i] = (int64_t)of_node[profile->sites[i].stack];
}

int64_t tide_profile_weight(const struct tide_profile_site *site,
                            const struct tide_question *question)
{
  bool in_bytes = question->unit == TIDE_UNIT_BYTES;
  switch (question->measure) {
  case TIDE_MEASURE_PEAK: return in_bytes ? site->peak_bytes : site->peak_blocks;
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
  if (question->window.from.given || question->window.to.given)
    weigh_window(profile, question, ret_weights);
  else
    for (size_t i = 0; i < profile->n_sites; i++)
      ret_weights[i] = tide_profile_weight(&profile->sites[i], question);
}

void tide_profile_ask(struct tide_profile *profile, const struct tide_question *question)
{
  TIDE_CLEANUP_FREE int64_t *weights = tide_alloc_array(profile->n_sites, sizeof *weights);
  tide_profile_weigh(profile, question, weights);
  for (size_t i = 0; i < profile->n_sites; i++)
    profile->sites[i].weight = weights[i];
  profile->question = *question;
  profile->whole = 0;
  if (question->measure == TIDE_MEASURE_PEAK && question->unit == TIDE_UNIT_BYTES)
    profile->whole = profile->image->peak_bytes; // what the report calls the peak
  else
    for (size_t i = 0; i < profile->n_sites; i++)
      if (profile->sites[i].kind != TIDE_SITE_PAGES)
        profile->whole += profile->sites[i].weight;
  if (profile->n_sites)
    qsort(profile->sites, profile->n_sites, sizeof *profile->sites, compare);
}
