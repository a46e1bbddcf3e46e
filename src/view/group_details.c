// SPDX-License-Identifier: Apache-2.0
//
// What is told of single groups: the ways of their stacks, and what became of their blocks.
#include "view/groups.h"

#include "base/alloc.h"
#include "profile/timeline.h"

#include <stdlib.h>

// ---- ways ----
//
// Asked for rows that are shown, so each stack's way is looked for anew.

struct way {
  const struct tide_named_frame *frame;
  int64_t weight;
};

static int by_function(const void *left, const void *right)
{
  const struct tide_named_frame *a = ((const struct way *)left)->frame;
  const struct tide_named_frame *b = ((const struct way *)right)->frame;
  int order = tide_function_compare(a, b);
  if (!order)
    order = (a->line > b->line) - (a->line < b->line);
  return order ? order : (a->pc > b->pc) - (a->pc < b->pc);
}

// Of those of one weight the first by name.
static struct tide_group_way weightiest(struct way *ways, size_t n)
{
  struct tide_group_way found = {0};
  int64_t most = 0;
  if (n)
    qsort(ways, n, sizeof *ways, by_function);
  for (size_t i = 0, next; i < n; i = next) {
    int64_t sum = 0;
    for (next = i; next < n && !tide_function_compare(ways[i].frame, ways[next].frame); next++)
      sum += ways[next].weight;
    found.n_more += found.frame != NULL;
    if (!found.frame || sum > most) {
      found.frame = ways[i].frame;
      most = sum;
    }
  }
  return found;
}

// Who called the place, if any frame of that is shown: what tells stacks with one place apart, as
// of a function through which all mappings go.
static const struct tide_named_frame *caller_of(struct tide_view *view, uint32_t stack,
                                                const struct tide_named_frame *culprit)
{
  size_t n;
  const struct tide_view_frame *shown = tide_view_stack(view, stack, &n);
  for (size_t i = 0; i + 1 < n; i++)
    if (shown[i].frame == culprit)
      return shown[i + 1].frame;
  return NULL;
}

struct tide_group_ways tide_groups_ways(const struct tide_groups *groups, struct tide_view *view,
                                        size_t group_idx)
{
  const struct tide_profile *profile = view->profile;
  if (!groups->of_site)
    return (struct tide_group_ways){0};
  size_t n = tide_groups_stacks(groups, profile, group_idx), n_vias = 0, n_callers = 0;
  TIDE_CLEANUP_FREE struct way *ways = tide_alloc_array(2 * n + 1, sizeof *ways);
  struct way *vias = ways, *callers = ways + n;
  for (size_t i = 0; i < n; i++) {
    const struct tide_group_gift gift = tide_groups_stack(groups, profile, group_idx, i);
    if (profile->sites[gift.site].kind == TIDE_SITE_LOST)
      continue;
    uint32_t stack = profile->sites[gift.site].stack;
    struct tide_blame blame = tide_view_blame(view, stack);
    if (groups->kind == TIDE_GROUP_PAGES && !blame.via && !blame.caller)
      blame.caller = caller_of(view, stack, blame.culprit);
    if (blame.via)
      vias[n_vias++] = (struct way){blame.via, gift.weight};
    if (blame.caller)
      callers[n_callers++] = (struct way){blame.caller, gift.weight};
  }
  return (struct tide_group_ways){weightiest(vias, n_vias), weightiest(callers, n_callers)};
}

// ---- fates ----

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
  bool none_freed =
      group->live_blocks - group->before_blocks == (int64_t)(group->n_alloc - group->n_resize);
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
             curve->live[i] - group->before_blocks == (int64_t)(group->n_alloc - group->n_resize);
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

void tide_groups_tell_fates(struct tide_groups *groups, const struct tide_image *image, size_t n)
{
  if (!groups->stacks || groups->kind == TIDE_GROUP_PAGES || image->n_snapshots < MOMENTS_LEAST ||
      image->end_ns <= image->start_ns || image->lacks & (TIDE_LACK_BLOCKS | TIDE_LACK_LIVE))
    return;
  n = n < groups->n ? n : groups->n;
  struct tide_timeline *timeline =
      tide_timeline_new(image, groups->stacks + groups->first[0], groups->first[n]);
  TIDE_CLEANUP_FREE int64_t *values = tide_alloc_array(2 * timeline->n_times, sizeof *values);
  int64_t *live = values, *kept = values + timeline->n_times;
  const struct curve curve = {timeline, live, kept, image->start_ns,
                              image->end_ns - image->start_ns};
  for (size_t i = 0; i < n; i++) {
    size_t first = groups->first[i], n_stacks = groups->first[i + 1] - first;
    tide_timeline_sum(timeline, groups->stacks + first, n_stacks, TIDE_UNIT_BLOCKS, live, kept);
    groups->items[i].fate = fate_of(&curve, &groups->items[i]);
  }
  tide_timeline_free(timeline);
}

void tide_groups_growth(const struct tide_groups *groups, const struct tide_image *image,
                        size_t group_idx, struct tide_growth *ret_growth)
{
  const size_t *first = &groups->first[group_idx];
  tide_growth_init(ret_growth, image, groups->stacks + first[0], first[1] - first[0]);
}
