// SPDX-License-Identifier: Apache-2.0
//
// Gathering in two steps: stacks with the same culprit frame fold by its pointer, which is cheap
// and leaves few; those fold by what they say, as one line may be inlined in many places.
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
  if (!a->frame || !b->frame) // events without a stack
    return (a->frame != NULL) - (b->frame != NULL);
  int order = compare_text(a->frame->function, b->frame->function);
  if (!order)
    order = compare_text(a->frame->file, b->frame->file);
  if (!order)
    order = (a->frame->line > b->frame->line) - (a->frame->line < b->frame->line);
  if (!order && !a->frame->file)
    order = (a->frame->module > b->frame->module) - (a->frame->module < b->frame->module);
  if (!order && !a->frame->function)
    order = (a->frame->pc > b->frame->pc) - (a->frame->pc < b->frame->pc);
  return order;
}

static int by_pointer(const void *left, const void *right)
{
  const struct tide_place *a = left, *b = right;
  return (a->frame > b->frame) - (a->frame < b->frame);
}

static int by_measure(const void *left, const void *right)
{
  const struct tide_place *a = left, *b = right;
  int order = (a->measure < b->measure) - (a->measure > b->measure);
  return order ? order : by_identity(left, right);
}

static void fold(struct tide_places *places, int (*compare)(const void *, const void *))
{
  size_t out = 0;
  qsort(places->items, places->n, sizeof *places->items, compare);
  for (size_t i = 0; i < places->n; i++) {
    struct tide_place *item = &places->items[i];
    struct tide_place *last = out ? &places->items[out - 1] : NULL;
    if (!last || compare(last, item) != 0) {
      places->items[out++] = *item;
      continue;
    }
    last->measure += item->measure;
    last->n_alloc += item->n_alloc;
    last->live_blocks += item->live_blocks;
    last->live_age_ns_sum += item->live_age_ns_sum;
    last->n_stacks += item->n_stacks;
  }
  places->n = out;
}

struct tide_places *tide_places_new(const struct tide_profile *profile, struct tide_naming *naming,
                                    enum tide_rank rank)
{
  struct tide_places *places = tide_alloc(sizeof *places);
  places->items = tide_alloc_array(profile->n_sites, sizeof *places->items);
  tide_naming_limit(naming, TIDE_PLACES_LOOKUPS_MAX);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    int64_t measure = tide_profile_measure(site, rank);
    if (site->kind == TIDE_SITE_PAGES || measure <= 0)
      continue;
    bool heap = site->kind == TIDE_SITE_HEAP;
    const struct tide_named_frame *frame = heap ? tide_naming_culprit(naming, site->stack) : NULL;
    places->n_stacks++;
    if (heap && !frame) {
      places->rest += measure;
      continue;
    }
    places->n_stacks_placed++;
    places->items[places->n++] = (struct tide_place){
        .frame = frame,
        .measure = measure,
        .n_alloc = site->n_alloc,
        .live_blocks = site->live_blocks,
        .live_age_ns_sum = site->live_age_ns_sum,
        .n_stacks = 1,
    };
  }
  fold(places, by_pointer);
  fold(places, by_identity);
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
