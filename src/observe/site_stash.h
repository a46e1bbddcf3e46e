// SPDX-License-Identifier: Apache-2.0
//
// Sites put away in few bytes, some 30 of what is 300 as a row with its buckets: most numbers of
// most stacks are zero or small. Each is had again by the place where it was put, or all one after
// another.
#pragma once
#include "base/buf.h"
#include "model/model.h"

struct tide_site_stash {
  struct tide_buf bytes;
};

#define TIDE_STASH_NONE UINT32_MAX

void tide_site_stash_done(struct tide_site_stash *stash);

// The place of a site of the image, whose start must be known; its buckets go along.
// TIDE_STASH_NONE: there is no more room.
uint32_t tide_site_stash_put(struct tide_site_stash *stash, const struct tide_image *image,
                             const struct tide_site *site);

// The site at a place; its buckets are added to the image's counts. Gives the next one's place.
uint32_t tide_site_stash_get(const struct tide_site_stash *stash, uint32_t place,
                             struct tide_image *image, struct tide_site *ret_site);
// Is there one at a place? The first is at 0.
bool tide_site_stash_has(const struct tide_site_stash *stash, uint32_t place);

// Fetches one into the cache.
static inline void tide_site_stash_prefetch(const struct tide_site_stash *stash, uint32_t place)
{
  __builtin_prefetch(stash->bytes.data + (size_t)place * 4);
}
