// SPDX-License-Identifier: Apache-2.0
//
// The snapshot of the heap's peak is left out: nobody looked then, and what was asked for until
// then is counted by the look behind it.
#include "profile/growth.h"

#include "base/alloc.h"
#include "model/rows.h"

#include <stdlib.h>

enum { RISES_LEAST = 4 }; // a habit

// Numbers of a damaged file may be anything.
static int64_t held_of(const struct tide_snapshot_row *row)
{
  int64_t most = INT64_MAX / 4;
  return row->live_bytes < 0 ? 0 : row->live_bytes < most ? row->live_bytes : most;
}

static struct tide_growth_step look_at(const struct tide_snapshot *snapshot, const uint32_t *stacks,
                                       size_t n_stacks)
{
  struct tide_growth_step step = {.time_ns = snapshot->time_ns};
  for (size_t i = 0; i < n_stacks; i++) {
    size_t at = tide_snapshot_find(snapshot, stacks[i]);
    if (at == snapshot->n_rows)
      continue;
    const struct tide_snapshot_row row = tide_snapshot_row_at(snapshot, at);
    step.held = step.held < INT64_MAX / 4 ? step.held + held_of(&row) : step.held;
    step.n += row.n_alloc;
    step.bytes += row.b_alloc;
  }
  return step;
}

static bool is_by_shares(const struct tide_growth *growth)
{
  if (growth->n_rises < RISES_LEAST)
    return false;
  for (size_t i = 0; i < growth->n; i++) {
    const struct tide_growth_step *step = &growth->steps[i];
    if (step->rose > 0 && step != growth->first && step->rose < (step->held - step->rose) / 2)
      return false;
  }
  return true;
}

static uint64_t each_of(const struct tide_growth *growth)
{
  uint64_t each = 0;
  for (size_t i = 0; i < growth->n; i++) {
    const struct tide_growth_step *step = &growth->steps[i];
    if (!step->n)
      continue;
    if (step->bytes % step->n || (each && step->bytes / step->n != each))
      return 0;
    each = step->bytes / step->n;
  }
  return each;
}

static void sum_up(struct tide_growth *growth)
{
  for (size_t i = 0; i < growth->n; i++) {
    const struct tide_growth_step *step = &growth->steps[i];
    growth->n_falls += step->rose < 0;
    if (step->rose <= 0)
      continue;
    growth->n_rises++;
    growth->first = growth->first ? growth->first : step;
    growth->last = step;
    if (!growth->largest || step->rose > growth->largest->rose)
      growth->largest = step;
  }
  growth->is_by_shares = is_by_shares(growth);
  growth->each_bytes = growth->has_counts ? each_of(growth) : 0;
}

void tide_growth_init(struct tide_growth *growth, const struct tide_image *image,
                      const uint32_t *stacks, size_t n_stacks)
{
  int64_t held = 0;
  *growth = (struct tide_growth){.has_counts = image->has_counts};
  for (size_t i = 0; i < image->n_snapshots; i++) {
    if (image->snapshots[i].kind == TIDE_SNAPSHOT_PEAK)
      continue;
    struct tide_growth_step step = look_at(&image->snapshots[i], stacks, n_stacks);
    step.rose = step.held - held;
    held = step.held;
    if (!step.rose && !step.n && !step.bytes)
      continue;
    TIDE_GROW(growth->steps, growth->n, growth->cap);
    growth->steps[growth->n++] = step;
  }
  sum_up(growth);
}

void tide_growth_done(struct tide_growth *growth)
{
  free(growth->steps);
  *growth = (struct tide_growth){0};
}
