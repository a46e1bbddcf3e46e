// SPDX-License-Identifier: Apache-2.0
//
// Asked for rows that are shown, so each stack's way is looked for anew.
#include "view/groups.h"

#include "base/alloc.h"

#include <stdlib.h>

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
    const struct tide_group_part part = tide_groups_stack(groups, profile, group_idx, i);
    if (profile->sites[part.site].kind == TIDE_SITE_LOST)
      continue;
    uint32_t stack = profile->sites[part.site].stack;
    struct tide_blame blame = tide_view_blame(view, stack);
    if (groups->kind == TIDE_GROUP_PAGES && !blame.via && !blame.caller)
      blame.caller = caller_of(view, stack, blame.culprit);
    if (blame.via)
      vias[n_vias++] = (struct way){blame.via, part.weight};
    if (blame.caller)
      callers[n_callers++] = (struct way){blame.caller, part.weight};
  }
  return (struct tide_group_ways){weightiest(vias, n_vias), weightiest(callers, n_callers)};
}
