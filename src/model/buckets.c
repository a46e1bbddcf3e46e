// SPDX-License-Identifier: Apache-2.0
//
// See buckets.h. A mask and the counts behind it are walked together, lowest bucket first.
#include "model/buckets.h"

#include "base/alloc.h"

#include <string.h>

// Adds the counts of a mask's buckets to a histogram; gives the first count behind them.
static const uint64_t *spread(uint64_t mask, const uint64_t *counts, uint64_t *buckets)
{
  for (; mask; mask &= mask - 1)
    buckets[__builtin_ctzll(mask)] += *counts++;
  return counts;
}

void tide_site_sum_buckets(const struct tide_image *image, const struct tide_site *site,
                           uint64_t sizes[TIDE_SIZE_BUCKETS_N],
                           uint64_t lifetimes[TIDE_LIFE_BUCKETS_N])
{
  const uint64_t *counts = tide_site_counts(image, site);
  counts = spread(site->size_mask, counts, sizes);
  spread(site->life_mask, counts, lifetimes);
}

uint64_t *tide_site_reserve_buckets(struct tide_image *image, struct tide_site *site)
{
  struct tide_counts *all = &image->counts;
  unsigned n = tide_site_n_counts(site);
  if (!n)
    return NULL;
  if (n > all->cap - all->n) {
    all->cap = all->cap + all->cap / 2 + n + 64;
    all->items = tide_realloc_array(all->items, all->cap, sizeof *all->items);
  }
  site->first_count = all->n;
  all->n += n;
  return memset(all->items + site->first_count, 0, n * sizeof *all->items);
}

static uint64_t mask_of(const uint64_t *buckets, unsigned n)
{
  uint64_t mask = 0;
  for (unsigned k = 0; k < n; k++)
    mask |= (uint64_t)(buckets[k] != 0) << k;
  return mask;
}

static uint64_t *gather_counts(uint64_t mask, const uint64_t *buckets, uint64_t *counts)
{
  for (; mask; mask &= mask - 1)
    *counts++ = buckets[__builtin_ctzll(mask)];
  return counts;
}

void tide_site_add_buckets(struct tide_image *image, struct tide_site *site,
                           const uint64_t sizes[TIDE_SIZE_BUCKETS_N],
                           const uint64_t lifetimes[TIDE_LIFE_BUCKETS_N])
{
  uint64_t size_sums[TIDE_SIZE_BUCKETS_N], life_sums[TIDE_LIFE_BUCKETS_N];
  memcpy(size_sums, sizes, sizeof size_sums);
  memcpy(life_sums, lifetimes, sizeof life_sums);
  tide_site_sum_buckets(image, site, size_sums, life_sums);
  unsigned n_before = tide_site_n_counts(site);
  site->size_mask = (uint32_t)mask_of(size_sums, TIDE_SIZE_BUCKETS_N);
  site->life_mask = mask_of(life_sums, TIDE_LIFE_BUCKETS_N);
  if (tide_site_n_counts(site) > n_before)
    tide_site_reserve_buckets(image, site);
  if (!image->counts.items)
    return; // none has any
  uint64_t *counts = image->counts.items + site->first_count;
  counts = gather_counts(site->size_mask, size_sums, counts);
  gather_counts(site->life_mask, life_sums, counts);
}
