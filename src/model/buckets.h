// SPDX-License-Identifier: Apache-2.0
//
// The histograms of sites: how the sizes of a site's allocations are spread, and the lifetimes of
// what it freed. Nearly all buckets of nearly all sites are empty, so an image keeps the counts of
// the others alone, one site's behind another's, and a site the bits that say which they are. That
// is also how they are in a file.
#pragma once
#include "model/model.h"

// Adds a site's histograms to the given ones.
void tide_site_sum_buckets(const struct tide_image *image, const struct tide_site *site,
                           uint64_t sizes[TIDE_SIZE_BUCKETS_N],
                           uint64_t lifetimes[TIDE_LIFE_BUCKETS_N]);

// Adds to a site's histograms. Buckets that were empty until now make its counts move: what they
// leave is lost until the image goes, so whoever knows all buckets beforehand reserves them.
void tide_site_add_buckets(struct tide_image *image, struct tide_site *site,
                           const uint64_t sizes[TIDE_SIZE_BUCKETS_N],
                           const uint64_t lifetimes[TIDE_LIFE_BUCKETS_N]);

// Room for the counts of the buckets in a site's masks, all zero, sizes before lifetimes; in place
// of those it had. Valid until room is made for another site; NULL when there are no buckets.
uint64_t *tide_site_reserve_buckets(struct tide_image *image, struct tide_site *site);

// A site's counts, of all buckets in its masks; NULL when it has none.
static inline uint64_t *tide_site_counts(const struct tide_image *image,
                                         const struct tide_site *site)
{
  return site->size_mask || site->life_mask ? image->counts.items + site->first_count : NULL;
}
static inline unsigned tide_site_n_sizes(const struct tide_site *site)
{
  return (unsigned)__builtin_popcount(site->size_mask);
}
static inline unsigned tide_site_n_counts(const struct tide_site *site)
{
  return tide_site_n_sizes(site) + (unsigned)__builtin_popcountll(site->life_mask);
}
