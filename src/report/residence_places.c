// SPDX-License-Identifier: Apache-2.0
//
// Sites to places. A mapping of the program's own and a block of the heap are never one row.
#include "report/residence.h"

#include "base/alloc.h"
#include "report/export_words.h"
#include "report/report_cells.h"
#include "view/frame_names.h"

#include <stdlib.h>

static char *place_words(const struct tide_naming *naming, const struct tide_named_frame *frame)
{
  if (!frame)
    return tide_strdup("(no stack)");
  TIDE_CLEANUP_FREE char *name = tide_export_frame_name(naming, frame);
  TIDE_CLEANUP_FREE char *where = tide_cell_location(naming, frame);
  return *where ? tide_sprintf("%s, %s", name, where) : tide_strdup(name);
}

static void add_site(struct tide_residence_place *place, const struct tide_residence_site *site)
{
  place->n_blocks += site->n_blocks;
  place->asked += site->asked;
  place->resident += site->resident;
  place->untouched += site->untouched;
  place->swapped += site->swapped;
  place->n_pinned += site->n_pinned;
  place->pinned += site->pinned;
  place->n_large += site->n_large;
  place->large_asked += site->large_asked;
  place->large_touched += site->large_touched;
  place->n_sparse += site->n_sparse;
  place->sparse += site->sparse;
}

static int place_order(const void *a, const void *b)
{
  const struct tide_residence_place *x = a, *y = b;
  uint64_t x_more = x->large_asked - x->large_touched, y_more = y->large_asked - y->large_touched;
  if (x->resident != y->resident)
    return x->resident > y->resident ? -1 : 1;
  return x_more > y_more ? -1 : x_more < y_more;
}

// Two places of each name: of blocks, and of mappings.
static struct tide_residence_place *place_of(struct tide_residence_places *places, uint32_t name,
                                             bool is_mapped)
{
  size_t i = (size_t)name * 2 + is_mapped;
  while (places->n <= i) {
    TIDE_GROW(places->items, places->n, places->cap);
    places->items[places->n++] = (struct tide_residence_place){0};
  }
  return &places->items[i];
}

struct gathering {
  struct tide_view *view;
  struct tide_frame_names names;
  struct tide_residence_places places;
};

static void gather(struct gathering *g, const struct tide_residence_site *site)
{
  const struct tide_naming *naming = g->view->naming;
  const struct tide_named_frame *frame = tide_view_culprit(g->view, site->stack);
  uint32_t known = tide_frame_names_add(&g->names, frame); // may move the frames
  struct tide_residence_place *place =
      place_of(&g->places, g->names.frames[known].name, site->is_mapped);
  place->is_mapped = site->is_mapped;
  add_site(place, site);
  if (!place->words)
    place->words = place_words(naming, frame);
}

static void finish_places(struct gathering *g, struct tide_residence_places *ret_places)
{
  struct tide_residence_places *places = &g->places;
  size_t n = 0;
  tide_frame_names_done(&g->names);
  for (size_t i = 0; i < places->n; i++)
    if (places->items[i].words)
      places->items[n++] = places->items[i];
  places->n = n;
  if (n)
    qsort(places->items, n, sizeof *places->items, place_order);
  *ret_places = *places;
}

void tide_residence_places_make(const struct tide_residence_subject *subject,
                                struct tide_residence_places *ret_places)
{
  const struct tide_residence *residence = subject->residence;
  struct gathering g = {.view = subject->view};
  *ret_places = g.places;
  if (!subject->view)
    return;
  tide_frame_names_init(&g.names, subject->view->naming, true);
  for (size_t i = 0; i < residence->n_sites; i++)
    gather(&g, &residence->sites[i]);
  finish_places(&g, ret_places);
}

void tide_residence_places_ended(const struct tide_residence_subject *subject,
                                 struct tide_residence_places *ret_places)
{
  struct gathering g = {.view = subject->view};
  *ret_places = g.places;
  if (!subject->view)
    return;
  const struct tide_profile *profile = subject->view->profile;
  tide_frame_names_init(&g.names, subject->view->naming, true);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *did = &profile->sites[i];
    struct tide_residence_site site = {.stack = did->stack,
                                       .n_large = TIDE_OF_SITE(did, n_looked),
                                       .large_asked = TIDE_OF_SITE(did, b_looked),
                                       .large_touched = TIDE_OF_SITE(did, b_touched)};
    if (site.n_large && site.large_asked >= site.large_touched)
      gather(&g, &site);
  }
  finish_places(&g, ret_places);
}

char *tide_place_of_stack(struct tide_view *view, uint32_t stack)
{
  return place_words(view->naming, tide_view_culprit(view, stack));
}

char *tide_residence_file_mapper(const struct tide_residence_subject *subject,
                                 const struct tide_residence_file *file)
{
  if (!subject->view || !file->stack)
    return NULL;
  const struct tide_named_frame *frame = tide_view_culprit(subject->view, file->stack);
  return frame ? place_words(subject->view->naming, frame) : NULL;
}

void tide_residence_places_done(struct tide_residence_places *places)
{
  for (size_t i = 0; i < places->n; i++)
    free(places->items[i].words);
  free(places->items);
  *places = (struct tide_residence_places){0};
}
