// SPDX-License-Identifier: Apache-2.0
//
// The definitions of fate.h, one function each.
#include "view/fate.h"

#include "base/alloc.h"

#include <stdlib.h>

enum { MOMENTS_LEAST = 4 };

const char *const tide_fate_words[TIDE_FATES_N] = {
    [TIDE_FATE_NONE] = NULL,           [TIDE_FATE_GROWING] = "growing",
    [TIDE_FATE_HELD] = "held",         [TIDE_FATE_THROUGHOUT] = "throughout",
    [TIDE_FATE_AT_END] = "at the end",
};

struct curve { // of one group, in blocks
  const struct tide_timeline *timeline;
  const int64_t *live, *kept;
  uint64_t start_ns, run_ns;
};

static bool is_growing(const struct curve *curve)
{
  size_t n = curve->timeline->n_times, n_rises = 0;
  int64_t at_half = 0, last = 0;
  for (size_t i = 0; i < n; i++) {
    n_rises += curve->kept[i] > last;
    last = curve->kept[i];
    if (curve->timeline->times_ns[i] <= curve->start_ns + curve->run_ns / 2)
      at_half = last;
  }
  return n_rises >= 2 && last - at_half > 0 && last - at_half >= last / 10;
}

static bool is_held_throughout(const struct curve *curve, const struct tide_group *group)
{
  bool none_freed = group->live_blocks == (int64_t)(group->n_alloc - group->n_resize);
  return none_freed && group->last_ns <= curve->start_ns + curve->run_ns / 10;
}

static bool is_freed_at_end(const struct curve *curve, const struct tide_group *group)
{
  const struct tide_image *image = curve->timeline->image;
  uint64_t late_ns = curve->start_ns + curve->run_ns / 10 * 9;
  if (group->live_blocks || !group->n_alloc)
    return false;
  for (size_t i = 0; i < curve->timeline->n_times; i++)
    if (image->snapshots[i].kind == TIDE_SNAPSHOT_TIMED && image->snapshots[i].time_ns >= late_ns)
      return group->last_ns <= image->snapshots[i].time_ns &&
             curve->live[i] == (int64_t)(group->n_alloc - group->n_resize);
  return false;
}

static enum tide_fate fate_of(const struct curve *curve, const struct tide_group *group)
{
  const struct tide_image *image = curve->timeline->image;
  bool has_times = !(image->lacks & (TIDE_LACK_TIMES | TIDE_LACK_CLOCK | TIDE_LACK_RESIZES));
  if (group->live_blocks > 0)
    return has_times && is_held_throughout(curve, group) ? TIDE_FATE_THROUGHOUT
           : is_growing(curve)                           ? TIDE_FATE_GROWING
                                                         : TIDE_FATE_HELD;
  return has_times && is_freed_at_end(curve, group) ? TIDE_FATE_AT_END : TIDE_FATE_NONE;
}

void tide_groups_tell_fates(struct tide_groups *groups, const struct tide_image *image)
{
  if (!groups->stacks || groups->kind == TIDE_GROUP_PAGES || image->n_snapshots < MOMENTS_LEAST ||
      image->end_ns <= image->start_ns || image->lacks & (TIDE_LACK_BLOCKS | TIDE_LACK_LIVE))
    return;
  struct tide_timeline *timeline = tide_timeline_new(image);
  TIDE_CLEANUP_FREE int64_t *values = tide_alloc_array(2 * timeline->n_times, sizeof *values);
  int64_t *live = values, *kept = values + timeline->n_times;
  const struct curve curve = {timeline, live, kept, image->start_ns,
                              image->end_ns - image->start_ns};
  for (size_t i = 0; i < groups->n; i++) {
    size_t first = groups->first[i], n = groups->first[i + 1] - first;
    tide_timeline_sum(timeline, groups->stacks + first, n, TIDE_UNIT_BLOCKS, live, kept);
    groups->items[i].fate = fate_of(&curve, &groups->items[i]);
  }
  tide_timeline_free(timeline);
}
