// SPDX-License-Identifier: Apache-2.0
//
// A stack matters as much as its largest share of any measure: of bytes or blocks, at the peak, at
// the end, in all, or temporary. By bytes alone a leak of small blocks would be the first to
// go, and by allocations alone everything that is allocated once.
#define _GNU_SOURCE
#include "page/page_sites.h"

#include "base/alloc.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { MEASURES = 8 };

static void measures_of(const struct tide_profile_site *site, double out[MEASURES])
{
  const double values[MEASURES] = {
      (double)TIDE_OF_SITE(site, peak_bytes), (double)TIDE_OF_SITE(site, peak_blocks),
      (double)tide_site_live_bytes(site),     (double)tide_site_live_blocks(site),
      (double)TIDE_OF_SITE(site, b_alloc),    (double)TIDE_OF_SITE(site, n_alloc),
      (double)TIDE_OF_SITE(site, b_temp),     (double)TIDE_OF_SITE(site, n_temp),
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

static double *shares_of(const struct tide_profile *profile)
{
  double of_kind[TIDE_SITE_LOST + 1][MEASURES] = {{0}};
  double *shares = tide_alloc_array(profile->n_sites + 1, sizeof *shares);
  sum_measures(profile, of_kind);
  for (size_t i = 0; i < profile->n_sites; i++)
    shares[i] = share_of(&profile->sites[i], of_kind);
  return shares;
}

static uint64_t falling_share(double share)
{
  uint64_t bits = 0; // of what is not below zero they rise with it
  if (share > 0)
    memcpy(&bits, &share, sizeof bits);
  return ~bits;
}

// Indexes of the sites: by falling share, then by rising stack.
static uint32_t *rank_sites(const struct tide_profile *profile, const double *shares)
{
  const size_t n = profile->n_sites;
  uint32_t *order = tide_order_new(n);
  TIDE_CLEANUP_FREE uint64_t *keys = tide_alloc_array(n + 1, sizeof *keys);
  for (size_t i = 0; i < n; i++)
    keys[i] = profile->sites[i].stack;
  tide_order_by(order, n, keys);
  for (size_t i = 0; i < n; i++)
    keys[i] = falling_share(shares[i]);
  tide_order_by(order, n, keys);
  return order;
}

uint8_t *tide_page_sites_that_go(const struct tide_profile *profile, const double *shares,
                                 size_t n_keep)
{
  uint8_t *goes = tide_alloc_array(profile->n_sites + 1, 1);
  if (n_keep >= profile->n_sites)
    return goes;
  TIDE_CLEANUP_FREE uint32_t *order = rank_sites(profile, shares);
  for (size_t i = 0, n_left = n_keep; i < profile->n_sites; i++) {
    double share = shares[order[i]];
    bool is_lost = share > 1, stays = is_lost || (n_left && share >= 0);
    goes[order[i]] = !stays;
    n_left -= !is_lost && stays;
  }
  return goes;
}

// The stacks of an image in the order of a walk through its tree, what is below a frame right
// behind it: whoever goes over a million of them finds at hand what they have in common. A frame's
// parent comes before it, so each gets room for all below it.
static uint32_t *walked(const struct tide_image *image)
{
  const size_t n = image->n_frames;
  // Per frame, how many are below it, and the place of its next child.
  TIDE_CLEANUP_FREE uint32_t *below = tide_alloc_array(n + 1, sizeof *below);
  TIDE_CLEANUP_FREE uint32_t *next = tide_alloc_array(n + 1, sizeof *next);
  uint32_t *order = tide_alloc_array(n + 1, sizeof *order);
  for (size_t i = n; i-- > 1;)
    below[image->frames[i].parent] += below[i] + 1;
  next[0] = 1;
  for (size_t i = 1; i < n; i++) {
    uint32_t *place = &next[image->frames[i].parent];
    order[*place] = (uint32_t)i;
    next[i] = *place + 1;
    *place += below[i] + 1;
  }
  return order;
}

static void number_kept(struct tide_page_sites *sites, const struct tide_profile *profile,
                        const uint8_t *goes)
{
  TIDE_CLEANUP_FREE uint32_t *order = walked(profile->image);
  for (size_t i = 0; i < profile->n_sites; i++) // by the profile's index at first
    sites->of_stack[profile->sites[i].stack] = (uint32_t)i + 1;
  for (size_t i = 0; i < profile->image->n_frames; i++) {
    uint32_t stack = order[i], index = sites->of_stack[stack];
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

// Puts the gathered, which come in the order of the walk, together by what they are gathered by.
// Where frames lie in memory tells which are the same, and must not tell anything else.
static void sort_gathered(struct tide_page_sites *sites, const struct tide_profile *profile,
                          const struct tide_page_gathering *gathering)
{
  const size_t n = sites->n_gathered;
  TIDE_CLEANUP_FREE uint32_t *order = tide_order_new(n);
  TIDE_CLEANUP_FREE uint64_t *keys = tide_alloc_array(n + 1, sizeof *keys);
  for (size_t i = 0; i < n; i++)
    keys[i] = gathering->tops[sites->gathered[i]];
  tide_order_by(order, n, keys);
  for (size_t i = 0; i < n; i++)
    keys[i] = (uintptr_t)gathering->places[sites->gathered[i]];
  tide_order_by(order, n, keys);
  for (size_t i = 0; i < n; i++)
    keys[i] = profile->sites[sites->gathered[i]].kind == TIDE_SITE_PAGES;
  tide_order_by(order, n, keys);
  for (size_t i = 0; i < n; i++)
    keys[i] = sites->gathered[i];
  for (size_t i = 0; i < n; i++)
    sites->gathered[i] = (uint32_t)keys[order[i]];
}

static struct tide_page_other other_of(const struct tide_profile *profile,
                                       const struct tide_page_gathering *gathering, uint32_t index)
{
  return (struct tide_page_other){.place = gathering->places[index],
                                  .top = gathering->tops[index],
                                  .of_pages = profile->sites[index].kind == TIDE_SITE_PAGES};
}

static bool is_same_gathering(const struct tide_page_other *a, const struct tide_page_other *b)
{
  return a->of_pages == b->of_pages && a->place == b->place && a->top == b->top;
}

struct members { // who is gathered, and where its stack is
  const uint32_t *gathered;
  const struct tide_profile_site *sites;
};

static int by_first_stack(const void *left, const void *right, void *context)
{
  const struct tide_page_other *a = left, *b = right;
  const struct members *members = context;
  uint32_t x = members->sites[members->gathered[a->first]].stack;
  uint32_t y = members->sites[members->gathered[b->first]].stack;
  return (x > y) - (x < y);
}

static void number_gathered(struct tide_page_sites *sites, const struct tide_profile *profile,
                            const struct tide_page_gathering *gathering)
{
  struct members members = {sites->gathered, profile->sites};
  sort_gathered(sites, profile, gathering);
  for (size_t i = 0; i < sites->n_gathered; i++) {
    struct tide_page_other other = other_of(profile, gathering, sites->gathered[i]);
    other.first = i;
    if (!i || !is_same_gathering(&other, &sites->others[sites->n_others - 1])) {
      TIDE_GROW(sites->others, sites->n_others, sites->cap_others);
      sites->others[sites->n_others++] = other;
    }
    sites->others[sites->n_others - 1].n++;
  }
  if (sites->n_others)
    qsort_r(sites->others, sites->n_others, sizeof *sites->others, by_first_stack, &members);
  for (size_t i = 0; i < sites->n_others; i++) {
    const struct tide_page_other *other = &sites->others[i];
    sites->n++;
    for (size_t k = other->first; k < other->first + other->n; k++)
      sites->of_stack[profile->sites[sites->gathered[k]].stack] = (uint32_t)sites->n;
  }
}

static struct tide_page_gathering choose(const struct tide_profile *profile,
                                         struct tide_naming *naming,
                                         const struct tide_page_choice *choice)
{
  TIDE_CLEANUP_FREE double *shares = shares_of(profile);
  struct tide_page_gathering gathering = {
      .places = tide_alloc_array(profile->n_sites + 1, sizeof *gathering.places),
      .tops = tide_alloc_array(profile->n_sites + 1, sizeof *gathering.tops),
  };
  tide_naming_limit(naming, SIZE_MAX);
  if (choice->is_first) {
    tide_page_first_choose(&gathering, profile, naming, shares, choice->n_keep);
    return gathering;
  }
  gathering.goes = tide_page_sites_that_go(profile, shares, choice->n_keep);
  for (size_t i = 0; choice->by_place && i < profile->n_sites; i++)
    if (gathering.goes[i] && profile->sites[i].kind != TIDE_SITE_PAGES)
      gathering.places[i] = tide_naming_culprit(naming, profile->sites[i].stack);
  return gathering;
}

void tide_page_sites_init(struct tide_page_sites *sites, const struct tide_profile *profile,
                          struct tide_naming *naming, struct tide_page_choice choice)
{
  struct tide_page_gathering gathering = choose(profile, naming, &choice);
  *sites = (struct tide_page_sites){
      .of_stack = tide_alloc_array(profile->image->n_frames + 1, sizeof *sites->of_stack),
      .kept = tide_alloc_array(profile->n_sites + 1, sizeof *sites->kept),
      .gathered = tide_alloc_array(profile->n_sites + 1, sizeof *sites->gathered),
      .n_of = profile->n_sites,
  };
  number_kept(sites, profile, gathering.goes);
  number_gathered(sites, profile, &gathering);
  free(gathering.goes);
  free(gathering.places);
  free(gathering.tops);
}

void tide_page_sites_done(struct tide_page_sites *sites)
{
  free(sites->of_stack);
  free(sites->kept);
  free(sites->gathered);
  free(sites->others);
  *sites = (struct tide_page_sites){0};
}
