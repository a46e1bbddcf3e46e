// SPDX-License-Identifier: Apache-2.0
//
// A stack matters as much as its largest share of any measure: of bytes or blocks, at the peak, at
// the end, in all, or temporary. By bytes alone a leak of small blocks would be the first to
// go, and by allocations alone everything that is allocated once.
#define _GNU_SOURCE
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

static int by_falling_share(const void *left, const void *right)
{
  const struct ranked *a = left, *b = right;
  int order = (a->share < b->share) - (a->share > b->share);
  return order ? order : (a->stack > b->stack) - (a->stack < b->stack);
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

uint8_t *tide_page_sites_that_go(const struct tide_profile *profile, const double *shares,
                                 size_t n_keep)
{
  uint8_t *goes = tide_alloc_array(profile->n_sites + 1, 1);
  if (n_keep >= profile->n_sites)
    return goes;
  TIDE_CLEANUP_FREE struct ranked *ranks = tide_alloc_array(profile->n_sites, sizeof *ranks);
  for (size_t i = 0; i < profile->n_sites; i++)
    ranks[i] = (struct ranked){shares[i], (uint32_t)i, profile->sites[i].stack};
  qsort(ranks, profile->n_sites, sizeof *ranks, by_falling_share);
  for (size_t i = 0, n_left = n_keep; i < profile->n_sites; i++) {
    bool is_lost = ranks[i].share > 1;
    bool stays = is_lost || (n_left && ranks[i].share >= 0);
    goes[ranks[i].index] = !stays;
    n_left -= !is_lost && stays;
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

struct member { // of a gathering
  const struct tide_named_frame *place;
  uint32_t top;
  bool of_pages;
  uint32_t index, stack;
};

static int by_gathering(const void *left, const void *right)
{
  const struct member *a = left, *b = right;
  int order = (a->of_pages > b->of_pages) - (a->of_pages < b->of_pages);
  if (!order)
    order =
        ((uintptr_t)a->place > (uintptr_t)b->place) - ((uintptr_t)a->place < (uintptr_t)b->place);
  if (!order)
    order = (a->top > b->top) - (a->top < b->top);
  return order ? order : (a->stack > b->stack) - (a->stack < b->stack);
}

// Where frames lie in memory tells which are the same, and must not tell anything else.
static int by_first_stack(const void *left, const void *right, void *context)
{
  const struct tide_page_other *a = left, *b = right;
  const struct member *members = context;
  uint32_t x = members[a->first].stack, y = members[b->first].stack;
  return (x > y) - (x < y);
}

static struct member *members_of(const struct tide_page_sites *sites,
                                 const struct tide_profile *profile,
                                 const struct tide_page_gathering *gathering)
{
  struct member *members = tide_alloc_array(sites->n_gathered + 1, sizeof *members);
  for (size_t i = 0; i < sites->n_gathered; i++) {
    uint32_t index = sites->gathered[i];
    const struct tide_profile_site *site = &profile->sites[index];
    members[i] = (struct member){
        .place = gathering->places[index],
        .top = gathering->tops[index],
        .of_pages = site->kind == TIDE_SITE_PAGES,
        .index = index,
        .stack = site->stack,
    };
  }
  return members;
}

static bool is_same_gathering(const struct member *a, const struct member *b)
{
  return a->of_pages == b->of_pages && a->place == b->place && a->top == b->top;
}

static void number_gathered(struct tide_page_sites *sites, const struct tide_profile *profile,
                            const struct tide_page_gathering *gathering)
{
  TIDE_CLEANUP_FREE struct member *members = members_of(sites, profile, gathering);
  if (sites->n_gathered)
    qsort(members, sites->n_gathered, sizeof *members, by_gathering);
  for (size_t i = 0; i < sites->n_gathered; i++) {
    const struct member *member = &members[i];
    sites->gathered[i] = member->index;
    if (!i || !is_same_gathering(member, &members[i - 1])) {
      TIDE_GROW(sites->others, sites->n_others, sites->cap_others);
      sites->others[sites->n_others++] =
          (struct tide_page_other){member->place, member->top, member->of_pages, i, 0};
    }
    sites->others[sites->n_others - 1].n++;
  }
  if (sites->n_others)
    qsort_r(sites->others, sites->n_others, sizeof *sites->others, by_first_stack, members);
  for (size_t i = 0; i < sites->n_others; i++) {
    const struct tide_page_other *other = &sites->others[i];
    sites->n++;
    for (size_t k = other->first; k < other->first + other->n; k++)
      sites->of_stack[members[k].stack] = (uint32_t)sites->n;
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
