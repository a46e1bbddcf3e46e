// SPDX-License-Identifier: Apache-2.0
//
// Sums of sites.
#include "view/group_sums.h"

#include "base/alloc.h"

#include <string.h>

void tide_group_add(struct tide_group *sum, const struct tide_group *item)
{
  sum->measure += item->measure;
  sum->n_stacks += item->n_stacks;
  tide_numbers_add(&sum->numbers, &item->numbers);
}

void tide_group_add_site(struct tide_group *sum, const struct tide_profile_site *site)
{
  sum->measure += site->weight;
  sum->n_stacks++;
  tide_numbers_add(&sum->numbers, &site->numbers);
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
