// SPDX-License-Identifier: Apache-2.0
//
// Places come first: which are shown follows from what all their stacks matter together, and only
// then which of their stacks stand for themselves. The others are gathered by place and by the
// innermost of their callers that is large enough to be seen. How large that is depends on how many
// such pairs there are: in a profile whose stacks are all alike, places by callers may be as many
// as stacks, so the bar is raised until they are few.
#include "page/page_sites.h"

#include "base/alloc.h"
#include "page/page_data.h"

#include <stdlib.h>

// Of the stacks that stay: a place for each third, and as many again, twice, stand for the others.
enum { STACKS_PER_PLACE = 3, OTHERS_PER_STACK = 2 };
#define SEEN_SHARE 0.0005 // of a graph that is 2,000 pixels wide, one
#define RAISED 4

struct place {
  const struct tide_named_frame *frame; // one of those that read the same
  double share;                         // sum of its stacks'
  uint32_t number;
  bool is_folded, is_shown;
};

struct first {
  size_t n_keep;
  const struct tide_profile *profile;
  struct tide_naming *naming;
  struct tide_page_gathering *gathering;
  struct place *places;
  uint32_t *place_of; // per site, index in places; UINT32_MAX: it has no frame
  uint32_t *cuts;     // per site, the innermost node of which it may keep the frames
};

// The node outside of the one that a frame of a stack is in.
static uint32_t outside_of(struct first *f, uint32_t stack, const struct tide_named_frame *frame)
{
  const struct tide_frame *frames = f->profile->image->frames;
  for (uint32_t node = stack; node; node = frames[node].parent) {
    size_t n;
    const struct tide_named_frame *named = tide_naming_of_node(f->naming, node, &n);
    if (frame >= named && frame < named + n)
      return frames[node].parent;
  }
  return 0;
}

// Places are told apart as the page does.
static size_t gather_places(struct first *f, const double *shares)
{
  struct tide_page_names names;
  const size_t n_sites = f->profile->n_sites;
  tide_page_names_init(&names, f->profile->image, f->naming);
  f->places = tide_alloc_array(n_sites + 1, sizeof *f->places);
  for (size_t i = 0; i < n_sites; i++) {
    const struct tide_profile_site *site = &f->profile->sites[i];
    const struct tide_named_frame *culprit =
        site->kind == TIDE_SITE_HEAP ? tide_naming_culprit(f->naming, site->stack) : NULL;
    f->place_of[i] = UINT32_MAX;
    f->cuts[i] = f->profile->image->frames[site->stack].parent;
    if (!culprit)
      continue;
    uint32_t number = tide_page_names_place(&names, culprit);
    struct place *place = &f->places[number];
    if (!place->frame)
      *place = (struct place){.frame = culprit, .number = number};
    place->share += shares[i];
    place->is_folded |= tide_layer_is_folded(culprit->layer);
    f->place_of[i] = number;
    f->cuts[i] = outside_of(f, site->stack, culprit);
  }
  size_t n = names.frames.n;
  tide_page_names_done(&names);
  return n;
}

static int by_falling_weight(const void *left, const void *right)
{
  const struct place *a = left, *b = right;
  int order = (a->share < b->share) - (a->share > b->share);
  return order ? order : (a->number > b->number) - (a->number < b->number);
}

// Where a stack is folded as a whole, its place is not seen once its callers are gone.
static void choose_places(struct first *f, size_t n)
{
  TIDE_CLEANUP_FREE struct place *ranked = tide_alloc_array(n + 1, sizeof *ranked);
  size_t n_ranked = 0;
  for (size_t i = 0; i < n; i++)
    if (f->places[i].frame && !f->places[i].is_folded)
      ranked[n_ranked++] = f->places[i];
  qsort(ranked, n_ranked, sizeof *ranked, by_falling_weight);
  for (size_t i = 0; i < n_ranked && i <= f->n_keep / STACKS_PER_PLACE; i++)
    f->places[ranked[i].number].is_shown = true;
}

static bool is_shown(const struct first *f, size_t site)
{
  return f->place_of[site] != UINT32_MAX && f->places[f->place_of[site]].is_shown;
}

static bool is_cut(const struct first *f, size_t site)
{
  return f->gathering->goes[site] && f->profile->sites[site].kind == TIDE_SITE_HEAP;
}

// Per node, the innermost one on its way that is large enough.
static void find_tops(const struct tide_image *image, const double *sums, double least,
                      uint32_t *tops)
{
  for (size_t i = 1; i < image->n_frames; i++)
    tops[i] = sums[i] >= least ? (uint32_t)i : tops[image->frames[i].parent];
}

// Whether there are more than so many different ones.
static bool has_more_pairs(const struct first *f, const uint32_t *tops, size_t n_most)
{
  struct tide_intern pairs = {0};
  for (size_t i = 0; i < f->profile->n_sites && pairs.n <= n_most; i++) {
    const uint32_t pair[] = {is_shown(f, i) ? f->place_of[i] : UINT32_MAX, tops[f->cuts[i]]};
    if (is_cut(f, i))
      tide_intern_add(&pairs, pair, sizeof pair);
  }
  bool has_more = pairs.n > n_most;
  tide_intern_done(&pairs);
  return has_more;
}

static void cut(struct first *f, const double *shares)
{
  const struct tide_image *image = f->profile->image;
  const size_t n_sites = f->profile->n_sites;
  TIDE_CLEANUP_FREE double *sums = tide_alloc_array(image->n_frames + 1, sizeof *sums);
  TIDE_CLEANUP_FREE uint32_t *tops = tide_alloc_array(image->n_frames + 1, sizeof *tops);
  for (size_t i = 0; i < n_sites; i++)
    if (is_cut(f, i))
      sums[f->cuts[i]] += shares[i];
  for (size_t i = image->n_frames; i-- > 1;)
    sums[image->frames[i].parent] += sums[i];
  const size_t n_most = OTHERS_PER_STACK * f->n_keep;
  double least = SEEN_SHARE;
  do {
    find_tops(image, sums, least, tops);
    least *= RAISED;
  } while (has_more_pairs(f, tops, n_most) && least <= RAISED * sums[0]);
  for (size_t i = 0; i < n_sites; i++) {
    if (!is_cut(f, i))
      continue;
    f->gathering->places[i] = is_shown(f, i) ? f->places[f->place_of[i]].frame : NULL;
    f->gathering->tops[i] = tops[f->cuts[i]];
  }
}

void tide_page_first_choose(struct tide_page_gathering *gathering,
                            const struct tide_profile *profile, struct tide_naming *naming,
                            const double *shares, size_t n_keep)
{
  const size_t n_sites = profile->n_sites;
  struct first f = {n_keep, .profile = profile, .naming = naming, .gathering = gathering};
  if (n_sites / TIDE_PAGE_FIRST_OF <= n_keep) {
    gathering->goes = tide_page_sites_that_go(profile, shares, n_sites);
    return;
  }
  f.place_of = tide_alloc_array(n_sites + 1, sizeof *f.place_of);
  f.cuts = tide_alloc_array(n_sites + 1, sizeof *f.cuts);
  choose_places(&f, gather_places(&f, shares));
  TIDE_CLEANUP_FREE double *ranks = tide_alloc_array(n_sites + 1, sizeof *ranks);
  for (size_t i = 0; i < n_sites; i++)
    ranks[i] = profile->sites[i].kind == TIDE_SITE_HEAP && !is_shown(&f, i) ? -1 : shares[i];
  gathering->goes = tide_page_sites_that_go(profile, ranks, n_keep);
  cut(&f, shares);
  free(f.places);
  free(f.place_of);
  free(f.cuts);
}
