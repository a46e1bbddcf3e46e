// SPDX-License-Identifier: Apache-2.0
//
// A stack matters as much as its largest share of any measure: of bytes or blocks, at the peak, at
// the end, in all, or at once freed. By bytes alone a leak of small blocks would be the first to
// go, and by allocations alone everything that is allocated once.
#include "page/page_sites.h"

#include "base/alloc.h"

#include <stdlib.h>

enum { MEASURES = 8 };

struct ranked {
  double share;
  uint32_t index, stack;
};

static void measures_of(const struct tide_profile_site *site, double out[MEASURES])
{
  const double values[MEASURES] = {
      (double)site->peak_bytes,  (double)site->peak_blocks, (double)site->live_bytes,
      (double)site->live_blocks, (double)site->b_alloc,     (double)site->n_alloc,
      (double)site->b_temp,      (double)site->n_temp,
  };
  for (size_t i = 0; i < MEASURES; i++)
    out[i] = values[i] > 0 ? values[i] : 0;
}

static void sum_measures(const struct tide_profile *profile, double of_kind[][MEASURES])
{
  for (size_t i = 0; i < profile->n_sites; i++) {
    double values[MEASURES];
    measures_of(&profile->sites[i], values);
    for (size_t k = 0; k < MEASURES; k++)
      of_kind[profile->sites[i].kind][k] += values[k];
  }
}

// The lost are never gathered: they are one site, and another story.
static double share_of(const struct tide_profile_site *site, double of_kind[][MEASURES])
{
  double values[MEASURES], largest = 0;
  if (site->kind == TIDE_SITE_LOST)
    return 2;
  measures_of(site, values);
  for (size_t k = 0; k < MEASURES; k++) {
    double whole = of_kind[site->kind][k];
    double share = whole > 0 ? values[k] / whole : 0;
    largest = share > largest ? share : largest;
  }
  return largest;
}

static int by_falling_share(const void *left, const void *right)
{
  const struct ranked *a = left, *b = right;
  int order = (a->share < b->share) - (a->share > b->share);
  return order ? order : (a->stack > b->stack) - (a->stack < b->stack);
}

// Which sites go, as a byte per site of the profile.
static uint8_t *choose(const struct tide_profile *profile, size_t n_keep)
{
  double of_kind[TIDE_SITE_LOST + 1][MEASURES] = {{0}};
  uint8_t *goes = tide_alloc_array(profile->n_sites + 1, 1);
  if (n_keep >= profile->n_sites)
    return goes;
  TIDE_CLEANUP_FREE struct ranked *ranks = tide_alloc_array(profile->n_sites, sizeof *ranks);
  sum_measures(profile, of_kind);
  for (size_t i = 0; i < profile->n_sites; i++)
    ranks[i] = (struct ranked){share_of(&profile->sites[i], of_kind), (uint32_t)i,
                               profile->sites[i].stack};
  qsort(ranks, profile->n_sites, sizeof *ranks, by_falling_share);
  for (size_t i = 0, n_left = n_keep; i < profile->n_sites; i++) {
    bool is_lost = ranks[i].share > 1;
    goes[ranks[i].index] = !is_lost && !n_left;
    n_left -= !is_lost && n_left;
  }
  return goes;
}

static void number_kept(struct tide_page_sites *sites, const struct tide_profile *profile,
                        const uint8_t *goes)
{
  const size_t n_stacks = profile->image->n_frames;
  for (size_t i = 0; i < profile->n_sites; i++) // by the profile's index at first
    sites->of_stack[profile->sites[i].stack] = (uint32_t)i + 1;
  for (size_t stack = 0; stack < n_stacks; stack++) {
    uint32_t index = sites->of_stack[stack];
    if (!index)
      continue;
    if (goes[index - 1]) {
      sites->gathered[sites->n_gathered++] = index - 1;
      continue;
    }
    sites->kept[sites->n_kept++] = index - 1;
    sites->of_stack[stack] = (uint32_t)sites->n_kept;
  }
  sites->n = sites->n_kept;
}

static void number_gathered(struct tide_page_sites *sites, const struct tide_profile *profile)
{
  for (size_t i = 0; i < sites->n_gathered; i++) {
    const struct tide_profile_site *site = &profile->sites[sites->gathered[i]];
    uint32_t *number = site->kind == TIDE_SITE_PAGES ? &sites->pages : &sites->heap;
    if (!*number)
      *number = (uint32_t)++sites->n;
    sites->of_stack[site->stack] = *number;
  }
}

void tide_page_sites_init(struct tide_page_sites *sites, const struct tide_profile *profile,
                          size_t n_keep)
{
  TIDE_CLEANUP_FREE uint8_t *goes = choose(profile, n_keep);
  *sites = (struct tide_page_sites){
      .of_stack = tide_alloc_array(profile->image->n_frames + 1, sizeof *sites->of_stack),
      .kept = tide_alloc_array(profile->n_sites + 1, sizeof *sites->kept),
      .gathered = tide_alloc_array(profile->n_sites + 1, sizeof *sites->gathered),
      .n_of = profile->n_sites,
  };
  number_kept(sites, profile, goes);
  number_gathered(sites, profile);
}

void tide_page_sites_done(struct tide_page_sites *sites)
{
  free(sites->of_stack);
  free(sites->kept);
  free(sites->gathered);
  *sites = (struct tide_page_sites){0};
}
