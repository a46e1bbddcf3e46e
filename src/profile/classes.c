// SPDX-License-Identifier: Apache-2.0
//
// What of a site's weight was never freed is known where the late frees tell (profile/profile.h).
// Nobody looked at the peak: there it is known of stacks that freed everything or nothing.
#include "profile/classes.h"

#include "base/alloc.h"
#include "profile/profile.h"

#include <stdlib.h>

static const int64_t unknown = INT64_MIN;

static bool is_moment(const struct tide_image *image, const struct tide_point *point,
                      enum tide_snapshot_kind kind)
{
  return point->given && point->snapshot != TIDE_POINT_START &&
         image->snapshots[point->snapshot].kind == kind;
}

// What is known of every site alike, by the question; `unknown` where nothing is.
static int64_t kept_of_site(const struct tide_profile *profile,
                            const struct tide_profile_site *site)
{
  const struct tide_question *question = &profile->question;
  const struct tide_window *window = &question->window;
  bool of_part = window->from.given || window->to.given;
  bool to_end = !of_part || is_moment(profile->image, &window->to, TIDE_SNAPSHOT_END);
  switch (question->measure) {
  case TIDE_MEASURE_LEAK: return site->weight;
  case TIDE_MEASURE_LIVE:
  case TIDE_MEASURE_GROWN: return to_end ? site->weight : unknown;
  case TIDE_MEASURE_TEMP: return 0;
  case TIDE_MEASURE_TOTAL:
    if (!of_part)
      return question->unit == TIDE_UNIT_BYTES
                 ? tide_site_live_bytes(site) - TIDE_OF_SITE(site, before_bytes)
                 : tide_site_live_blocks(site) - TIDE_OF_SITE(site, before_blocks);
    return unknown;
  default: return unknown;
  }
}

// Between the least and the most there can be.
static int64_t limit_kept(int64_t kept, int64_t weight)
{
  if (weight < 0 || kept < 0)
    return 0;
  return kept < weight ? kept : weight;
}

static void find_kept(struct tide_classes *classes)
{
  const struct tide_profile *profile = classes->profile;
  const struct tide_image *image = profile->image;
  const struct tide_window *window = &profile->question.window;
  bool of_part = window->from.given || window->to.given;
  bool told = of_part && !profile->question.at_least && tide_kept_is_known(image, window);
  struct tide_question question = profile->question;
  if (question.measure == TIDE_MEASURE_LIVE)
    question.window.from.given = false; // whenever it was allocated
  classes->kept = tide_alloc_array(profile->n_sites, sizeof *classes->kept);
  if (told)
    tide_kept_weigh(profile, &question, classes->kept);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    int64_t kept = told ? classes->kept[i] : kept_of_site(profile, site);
    if (kept == unknown && tide_site_live_blocks(site) == 0)
      kept = 0;
    if (kept == unknown && TIDE_OF_SITE(site, n_free) == 0)
      kept = site->weight;
    classes->kept[i] = kept == unknown ? unknown : limit_kept(kept, site->weight);
  }
}

void tide_classes_init(struct tide_classes *classes, const struct tide_profile *profile,
                       bool of_life)
{
  *classes = (struct tide_classes){
      .profile = profile,
      .of_life = of_life,
      .n = of_life ? TIDE_LIFE_CLASSES_N : TIDE_SIZE_CLASSES_N,
  };
  if (of_life)
    find_kept(classes);
}

void tide_classes_done(struct tide_classes *classes)
{
  free(classes->kept);
  *classes = (struct tide_classes){0};
}

// Lifetimes of what was freed are a histogram; what a resize took over was freed without one.
static void count_lives(const struct tide_profile_site *site,
                        const uint64_t lives[TIDE_LIFE_BUCKETS_N], uint64_t *counts)
{
  uint64_t n_ended = 0;
  for (unsigned k = 0; k < TIDE_LIFE_BUCKETS_N; k++) {
    bool shortest = k < TIDE_LIFE_CLASS_SHORTEST;
    counts[shortest ? 0 : 1 + (k - TIDE_LIFE_CLASS_SHORTEST) / TIDE_LIFE_CLASS_BUCKETS] += lives[k];
    n_ended += lives[k];
  }
  counts[TIDE_LIFE_CLASS_RESIZED] =
      TIDE_OF_SITE(site, n_free) > n_ended ? TIDE_OF_SITE(site, n_free) - n_ended : 0;
  counts[TIDE_LIFE_CLASS_LIVE] =
      tide_site_live_blocks(site) > 0 ? (uint64_t)tide_site_live_blocks(site) : 0;
}

// Gives a weight to the classes below n_classes, which all of it is in.
static void place_weight(struct tide_class_shares *shares, int64_t weight, bool in_blocks,
                         unsigned n_classes)
{
  uint64_t n_blocks = 0;
  unsigned n_used = 0;
  for (unsigned k = 0; k < n_classes; k++) {
    if (!shares->counts[k])
      continue;
    n_blocks += shares->counts[k];
    shares->lowest = n_used ? shares->lowest : k;
    shares->highest = k;
    n_used++;
  }
  if (n_used == 1) {
    shares->weights[shares->highest] += weight;
    return;
  }
  bool all = in_blocks && weight > 0 && (uint64_t)weight >= n_blocks;
  for (unsigned k = 0; all && k < n_classes; k++)
    shares->weights[k] += (int64_t)shares->counts[k];
  shares->several = weight - (all ? (int64_t)n_blocks : 0);
}

void tide_classes_share(const struct tide_classes *classes, size_t site_idx,
                        struct tide_class_shares *ret_shares)
{
  const struct tide_profile *profile = classes->profile;
  const struct tide_profile_site *site = &profile->sites[site_idx];
  bool in_blocks = profile->question.unit == TIDE_UNIT_BLOCKS;
  uint64_t lives[TIDE_LIFE_BUCKETS_N], sizes[TIDE_SIZE_BUCKETS_N];
  *ret_shares = (struct tide_class_shares){0};
  tide_profile_site_histograms(profile, site, classes->of_life ? sizes : ret_shares->counts, lives);
  if (!classes->of_life) {
    place_weight(ret_shares, site->weight, in_blocks, classes->n);
    return;
  }
  count_lives(site, lives, ret_shares->counts);
  int64_t kept = classes->kept[site_idx];
  if (kept == unknown) {
    place_weight(ret_shares, site->weight, in_blocks, classes->n);
    return;
  }
  // Nothing that was resized was temporary.
  bool freed = profile->question.measure == TIDE_MEASURE_TEMP;
  ret_shares->weights[TIDE_LIFE_CLASS_LIVE] = kept;
  if (site->weight != kept)
    place_weight(ret_shares, site->weight - kept, in_blocks,
                 freed ? TIDE_LIFE_CLASS_RESIZED : TIDE_LIFE_CLASS_LIVE);
}
