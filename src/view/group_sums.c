// SPDX-License-Identifier: Apache-2.0
//
// Sums of sites.
#include "view/group_sums.h"

#include "base/alloc.h"

#include <string.h>

struct tide_group tide_group_none(void)
{
  return (struct tide_group){.first_ns = UINT64_MAX};
}

static void add_times(struct tide_group *sum, uint64_t first_ns, uint64_t last_ns)
{
  sum->first_ns = first_ns < sum->first_ns ? first_ns : sum->first_ns;
  sum->last_ns = last_ns > sum->last_ns ? last_ns : sum->last_ns;
}

void tide_group_add(struct tide_group *sum, const struct tide_group *item)
{
  sum->measure += item->measure;
  sum->n_alloc += item->n_alloc;
  sum->b_alloc += item->b_alloc;
  sum->n_free += item->n_free;
  sum->b_free += item->b_free;
  sum->n_temp += item->n_temp;
  sum->b_temp += item->b_temp;
  sum->n_foreign += item->n_foreign;
  sum->n_resize += item->n_resize;
  sum->b_resize_old += item->b_resize_old;
  sum->n_moved += item->n_moved;
  sum->b_moved += item->b_moved;
  sum->live_blocks += item->live_blocks;
  sum->live_bytes += item->live_bytes;
  sum->peak_blocks += item->peak_blocks;
  sum->peak_bytes += item->peak_bytes;
  sum->own_max_bytes += item->own_max_bytes;
  sum->life_ns_sum += item->life_ns_sum;
  sum->live_age_ns_sum += item->live_age_ns_sum;
  sum->n_stacks += item->n_stacks;
  add_times(sum, item->first_ns, item->last_ns);
}

void tide_group_add_site(struct tide_group *sum, const struct tide_profile_site *site)
{
  const struct tide_group item = {
      .measure = site->weight,
      .n_alloc = site->n_alloc,
      .b_alloc = site->b_alloc,
      .n_free = site->n_free,
      .b_free = site->b_free,
      .n_temp = site->n_temp,
      .b_temp = site->b_temp,
      .n_foreign = site->n_foreign,
      .n_resize = site->n_resize,
      .b_resize_old = site->b_resize_old,
      .n_moved = site->n_moved,
      .b_moved = site->b_moved,
      .live_blocks = site->live_blocks,
      .live_bytes = site->live_bytes,
      .peak_blocks = site->peak_blocks,
      .peak_bytes = site->peak_bytes,
      .own_max_bytes = site->own_max_bytes,
      .life_ns_sum = site->life_ns_sum,
      .live_age_ns_sum = site->live_age_ns_sum,
      .first_ns = site->n_alloc ? site->first_ns : UINT64_MAX,
      .last_ns = site->last_ns,
      .n_stacks = 1,
  };
  tide_group_add(sum, &item);
}

void tide_groups_histograms(const struct tide_groups *groups, const struct tide_profile *profile,
                            size_t group_idx, uint64_t ret_sizes[TIDE_SIZE_BUCKETS_N],
                            uint64_t ret_lifetimes[TIDE_LIFE_BUCKETS_N])
{
  memset(ret_sizes, 0, TIDE_SIZE_BUCKETS_N * sizeof *ret_sizes);
  memset(ret_lifetimes, 0, TIDE_LIFE_BUCKETS_N * sizeof *ret_lifetimes);
  if (!groups->of_site)
    return;
  for (size_t i = groups->first[group_idx]; i < groups->first[group_idx + 1]; i++) {
    uint64_t sizes[TIDE_SIZE_BUCKETS_N], lives[TIDE_LIFE_BUCKETS_N];
    tide_profile_site_histograms(profile, &profile->sites[groups->sites[i]], sizes, lives);
    for (unsigned k = 0; k < TIDE_SIZE_BUCKETS_N; k++)
      ret_sizes[k] += sizes[k];
    for (unsigned k = 0; k < TIDE_LIFE_BUCKETS_N; k++)
      ret_lifetimes[k] += lives[k];
  }
}
