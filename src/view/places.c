// SPDX-License-Identifier: Apache-2.0
//
// Gathering in two steps: stacks with the same culprit frame fold by its pointer, which is cheap
// and leaves few; those fold by what they say, as one line may be inlined in many places.
#include "view/places.h"

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
int tide_place_compare(const struct tide_named_frame *a, const struct tide_named_frame *b)
{
  int order = compare_text(a->function, b->function);
  if (!order)
    order = compare_text(a->file, b->file);
  if (!order)
    order = (a->line > b->line) - (a->line < b->line);
  if (!order && !a->file)
    order = (a->module > b->module) - (a->module < b->module);
  if (!order && !a->function)
    order = (a->pc > b->pc) - (a->pc < b->pc);
  return order;
}

static int by_identity(const void *left, const void *right)
{
  const struct tide_place *a = left, *b = right;
  if (!a->frame || !b->frame) // events without a stack
    return (a->frame != NULL) - (b->frame != NULL);
  return tide_place_compare(a->frame, b->frame);
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

static void add(struct tide_place *sum, const struct tide_place *item)
{
  sum->measure += item->measure;
  sum->n_alloc += item->n_alloc;
  sum->b_alloc += item->b_alloc;
  sum->n_free += item->n_free;
  sum->b_free += item->b_free;
  sum->n_temp += item->n_temp;
  sum->n_resize += item->n_resize;
  sum->live_blocks += item->live_blocks;
  sum->live_bytes += item->live_bytes;
  sum->peak_blocks += item->peak_blocks;
  sum->peak_bytes += item->peak_bytes;
  sum->live_age_ns_sum += item->live_age_ns_sum;
  sum->n_stacks += item->n_stacks;
}

static struct tide_place place_of(const struct tide_profile_site *site)
{
  return (struct tide_place){
      .measure = site->weight,
      .n_alloc = site->n_alloc,
      .b_alloc = site->b_alloc,
      .n_free = site->n_free,
      .b_free = site->b_free,
      .n_temp = site->n_temp,
      .n_resize = site->n_resize,
      .live_blocks = site->live_blocks,
      .live_bytes = site->live_bytes,
      .peak_blocks = site->peak_blocks,
      .peak_bytes = site->peak_bytes,
      .live_age_ns_sum = site->live_age_ns_sum,
      .n_stacks = 1,
  };
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
    add(last, item);
    if (item->frame && item->frame->pc < last->frame->pc) // the same one in every run
      last->frame = item->frame;
  }
  places->n = out;
}

struct tide_places *tide_places_new(struct tide_view *view)
{
  const struct tide_profile *profile = view->profile;
  struct tide_places *places = tide_alloc(sizeof *places);
  places->items = tide_alloc_array(profile->n_sites, sizeof *places->items);
  tide_naming_limit(view->naming, TIDE_PLACES_LOOKUPS_MAX);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    if (!tide_view_has(view, i) || site->weight <= 0)
      continue;
    bool heap = site->kind == TIDE_SITE_HEAP;
    const struct tide_named_frame *frame = heap ? tide_view_culprit(view, site->stack) : NULL;
    struct tide_place place = place_of(site);
    places->n_stacks++;
    if (heap && !frame) {
      add(&places->rest, &place);
      continue;
    }
    place.frame = frame;
    places->n_stacks_placed++;
    places->items[places->n++] = place;
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

size_t tide_places_shown(const struct tide_places *places, size_t n_max, int64_t min_measure)
{
  size_t n = 0;
  while (n < places->n && n < n_max && places->items[n].measure >= min_measure)
    n++;
  return n;
}

struct tide_place tide_places_rest(const struct tide_places *places, size_t n_shown)
{
  struct tide_place rest = places->rest;
  for (size_t i = n_shown; i < places->n; i++)
    add(&rest, &places->items[i]);
  return rest;
}
