// SPDX-License-Identifier: Apache-2.0
//
// Of blocks held at a moment, those born in an interval are what was live at its end beyond what
// was live at its beginning, with what went in it of older blocks put back, less those that were
// freed later, up to the moment.
#include "profile/births.h"

#include "base/alloc.h"
#include "base/search.h"

#include <stdlib.h>

static bool is_peak(const struct tide_image *image, size_t snapshot)
{
  return image->snapshots[snapshot].kind == TIDE_SNAPSHOT_PEAK;
}

// Late frees up to the moment, by the interval of birth: a counting sort.
static void sort_late_frees(struct tide_births *births)
{
  const struct tide_image *image = births->image;
  size_t *first = tide_alloc_array(image->n_snapshots + 2, sizeof *first), n = 0;
  for (size_t i = 0; i < image->n_late_frees; i++)
    if (image->late_frees[i].freed < births->past) {
      first[image->late_frees[i].born + 2]++;
      n++;
    }
  for (size_t s = 2; s < image->n_snapshots + 2; s++)
    first[s] += first[s - 1];
  births->late_of = tide_alloc_array(n + 1, sizeof *births->late_of);
  for (size_t i = 0; i < image->n_late_frees; i++)
    if (image->late_frees[i].freed < births->past)
      births->late_of[first[image->late_frees[i].born + 1]++] = (uint32_t)i;
  births->first_late = first;
}

// What is held is held at a moment: where none is said, at the end, which need not be the last.
static size_t past_of_held(const struct tide_image *image, const struct tide_births *births,
                           const struct tide_question *question)
{
  for (size_t s = births->first; s < births->past && !question->window.to.given; s++)
    if (image->snapshots[s].kind == TIDE_SNAPSHOT_END)
      return s + 1;
  return question->window.to.given ? births->past : births->first;
}

static bool is_known(const struct tide_births *births, const struct tide_question *question)
{
  const struct tide_image *image = births->image;
  const struct tide_point *from = &question->window.from;
  if (question->measure == TIDE_MEASURE_LEAK && question->window.to.given)
    return false; // held at the end, but not all that was
  switch (question->measure) {
  case TIDE_MEASURE_TOTAL: return image->has_counts;
  case TIDE_MEASURE_LIVE:
  case TIDE_MEASURE_LEAK:
  case TIDE_MEASURE_GROWN:
    return image->has_late_frees && image->n_late_frees <= UINT32_MAX &&
           !is_peak(image, births->past - 1) &&
           !(from->given && from->snapshot != TIDE_POINT_START && is_peak(image, from->snapshot));
  default: return false;
  }
}

bool tide_births_init(struct tide_births *births, const struct tide_image *image,
                      const struct tide_question *question)
{
  *births = (struct tide_births){.image = image,
                                 .in_bytes = question->unit == TIDE_UNIT_BYTES,
                                 .of_held = question->measure != TIDE_MEASURE_TOTAL};
  size_t n = 0;
  tide_window_snapshots(image, &question->window, &births->first, &births->past);
  if (births->of_held)
    births->past = past_of_held(image, births, question);
  for (size_t s = births->first; s < births->past; s++)
    n += !is_peak(image, s);
  if (n < 2 || !is_known(births, question))
    return false;
  if (births->of_held)
    sort_late_frees(births);
  return true;
}

void tide_births_done(struct tide_births *births)
{
  free(births->first_late);
  free(births->late_of);
  *births = (struct tide_births){0};
}

struct adding {
  const uint8_t *wanted;
  uint64_t *sums, all;
};

static void add_birth(struct adding *to, uint32_t stack, uint64_t value)
{
  if (!to->wanted[stack])
    return;
  to->sums[stack] += value;
  to->all += value;
}

// What was live at a snapshot, or the same taken away: a sign of 1 or -1.
static void add_live(const struct tide_births *births, size_t snapshot, uint64_t sign,
                     struct adding *to)
{
  const struct tide_snapshot *s = &births->image->snapshots[snapshot];
  for (size_t i = 0; i < s->n_rows; i++) {
    int64_t live = births->in_bytes ? s->rows[i].live_bytes : s->rows[i].live_blocks;
    add_birth(to, s->rows[i].stack, sign * (uint64_t)live);
  }
}

static uint64_t amount(const struct tide_births *births, const struct tide_late_free *late)
{
  return births->in_bytes ? late->bytes : late->n_blocks;
}

// They are in order of freeing: the first that went in the interval before a snapshot, or later.
static size_t first_freed(const struct tide_image *image, size_t snapshot)
{
  return TIDE_FIRST_NOT_BELOW(image->late_frees, image->n_late_frees, freed, snapshot);
}

static void add_held(const struct tide_births *births, size_t snapshot, struct adding *to)
{
  const struct tide_image *image = births->image;
  size_t before = snapshot;
  while (before > 0 && is_peak(image, before - 1))
    before--;
  add_live(births, snapshot, 1, to);
  if (before > 0)
    add_live(births, before - 1, UINT64_MAX, to);
  for (size_t i = first_freed(image, snapshot);
       i < image->n_late_frees && image->late_frees[i].freed == snapshot; i++)
    add_birth(to, image->late_frees[i].stack, amount(births, &image->late_frees[i]));
  for (size_t i = births->first_late[snapshot]; i < births->first_late[snapshot + 1]; i++) {
    const struct tide_late_free *late = &image->late_frees[births->late_of[i]];
    add_birth(to, late->stack, 0 - amount(births, late));
  }
}

uint64_t tide_births_add(const struct tide_births *births, size_t snapshot, const uint8_t *wanted,
                         uint64_t *sums)
{
  const struct tide_snapshot *s = &births->image->snapshots[snapshot];
  struct adding to = {wanted, sums, 0};
  if (s->kind == TIDE_SNAPSHOT_PEAK)
    return 0;
  if (births->of_held)
    add_held(births, snapshot, &to);
  for (size_t i = 0; i < s->n_rows && !births->of_held; i++)
    add_birth(&to, s->rows[i].stack, births->in_bytes ? s->rows[i].b_alloc : s->rows[i].n_alloc);
  return to.all;
}
