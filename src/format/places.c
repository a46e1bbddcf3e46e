// SPDX-License-Identifier: Apache-2.0
//
// Gathering: one place per stack, sort by identity, fold neighbours, sort by measure.
#include "format/places.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static int compare_text(const char *a, const char *b)
{
  if (!a || !b)
    return (a != NULL) - (b != NULL);
  return strcmp(a, b);
}

// Same function, file and line; for code without a name, the same address.
static int by_identity(const void *left, const void *right)
{
  const struct tide_place *a = left, *b = right;
  int order = (int)a->kind - (int)b->kind;
  if (!order)
    order = compare_text(a->frame.function, b->frame.function);
  if (!order)
    order = compare_text(a->frame.file, b->frame.file);
  if (!order)
    order = (a->frame.line > b->frame.line) - (a->frame.line < b->frame.line);
  if (!order && !a->frame.file)
    order = (a->frame.module > b->frame.module) - (a->frame.module < b->frame.module);
  if (!order && !a->frame.function)
    order = (a->frame.pc > b->frame.pc) - (a->frame.pc < b->frame.pc);
  return order;
}

static int by_measure(const void *left, const void *right)
{
  const struct tide_place *a = left, *b = right;
  int order = (a->measure < b->measure) - (a->measure > b->measure);
  return order ? order : by_identity(left, right);
}

static void fold_neighbours(struct tide_places *places)
{
  size_t out = 0;
  for (size_t i = 0; i < places->n; i++) {
    struct tide_place *item = &places->items[i];
    struct tide_place *last = out ? &places->items[out - 1] : NULL;
    if (!last || by_identity(last, item) != 0) {
      places->items[out++] = *item;
      continue;
    }
    last->measure += item->measure;
    last->n_alloc += item->n_alloc;
    last->live_blocks += item->live_blocks;
    last->live_bytes += item->live_bytes;
    last->live_age_ns_sum += item->live_age_ns_sum;
    last->n_stacks += item->n_stacks;
  }
  places->n = out;
}

struct tide_places *tide_places_new(const struct tide_profile *profile, struct tide_naming *naming,
                                    enum tide_rank rank)
{
  struct tide_places *places = tide_alloc(sizeof *places);
  places->items = tide_alloc_array(TIDE_PLACES_STACKS_MAX, sizeof *places->items);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    int64_t measure = tide_profile_measure(site, rank);
    if (site->kind == TIDE_SITE_PAGES || measure <= 0)
      continue;
    places->n_stacks++;
    if (places->n == TIDE_PLACES_STACKS_MAX) {
      places->rest += measure;
      continue;
    }
    struct tide_place *place = &places->items[places->n++];
    *place = (struct tide_place){
        .kind = site->kind,
        .measure = measure,
        .n_alloc = site->n_alloc,
        .live_blocks = site->live_blocks,
        .live_bytes = site->live_bytes,
        .live_age_ns_sum = site->live_age_ns_sum,
        .n_stacks = 1,
    };
    if (site->kind == TIDE_SITE_HEAP)
      place->frame = tide_naming_culprit(naming, site->stack);
  }
  places->n_stacks_named = places->n;
  qsort(places->items, places->n, sizeof *places->items, by_identity);
  fold_neighbours(places);
  qsort(places->items, places->n, sizeof *places->items, by_measure);
  return places;
}

void tide_places_free(struct tide_places *places)
{
  if (!places)
    return;
  free(places->items);
  free(places);
}
