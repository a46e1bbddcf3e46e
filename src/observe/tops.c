// SPDX-License-Identifier: Apache-2.0
//
// See tops.h. A stack that holds a block since the last event of a thread may have it among what
// waits in that thread's slot (store/pairs.h), which is looked at as well.
#include "observe/tops.h"

#include "base/alloc.h"
#include "model/pack.h"
#include "observe/intervals.h"
#include "observe/store_view.h"

#include <stdlib.h>
#include <string.h>

// ---- choosing ----

static int cells_by_stack(const void *left, const void *right)
{
  const struct tide_top_cell *a = left, *b = right;
  return a->stack != b->stack ? (a->stack > b->stack) - (a->stack < b->stack)
                              : (a->cell > b->cell) - (a->cell < b->cell);
}

static int values_by_falling_bytes(const void *left, const void *right)
{
  const struct tide_top_value *a = left, *b = right;
  return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes)
                              : (a->stack > b->stack) - (a->stack < b->stack);
}

static int values_by_stack(const void *left, const void *right)
{
  const struct tide_top_value *a = left, *b = right;
  return (a->stack > b->stack) - (a->stack < b->stack);
}

static struct tide_top_value *value_of(struct tide_top_value *values, uint32_t n, uint32_t stack)
{
  struct tide_top_value key = {.stack = stack};
  return n ? bsearch(&key, values, n, sizeof key, values_by_stack) : NULL;
}

static int64_t seen_bytes(const struct tide_intervals *intervals, uint32_t cell)
{
  struct tide_tally seen = tide_interval_seen(intervals, cell);
  return (int64_t)(seen.b_alloc - seen.b_free);
}

// The stacks of the cells, by what these hold; the largest, by rising stack.
static void choose_stacks(struct tide_tops *tops, struct tide_top_cells *top, uint32_t n_most)
{
  struct tide_top_value sums[TIDE_TOP_CELLS];
  uint32_t n = 0;
  qsort(top->items, top->n, sizeof *top->items, cells_by_stack);
  for (uint32_t i = 0; i < top->n; i++) {
    if (!n || sums[n - 1].stack != top->items[i].stack)
      sums[n++] = (struct tide_top_value){.stack = top->items[i].stack};
    sums[n - 1].bytes = (int64_t)((uint64_t)sums[n - 1].bytes + (uint64_t)top->items[i].bytes);
  }
  qsort(sums, n, sizeof *sums, values_by_falling_bytes);
  n_most = n_most < TIDE_TOP_STACKS ? n_most : TIDE_TOP_STACKS;
  tops->n_stacks = n < n_most ? n : n_most;
  memcpy(tops->stacks, sums, tops->n_stacks * sizeof *sums);
  qsort(tops->stacks, tops->n_stacks, sizeof *sums, values_by_stack);
}

// What the chosen stacks held at the snapshot, in all of their cells.
static void sum_stacks(struct tide_tops *tops, const struct tide_intervals *intervals,
                       const struct tide_store_view *view)
{
  uint64_t any[16] = {0}; // a bit for each stack, which it may share with others
  for (uint32_t i = 0; i < tops->n_stacks; i++) {
    any[tops->stacks[i].stack / 64 % 16] |= UINT64_C(1) << tops->stacks[i].stack % 64;
    tops->stacks[i].bytes = 0;
  }
  for (uint32_t cell = TIDE_FIRST_CELL; cell < view->header.n_cells; cell++) {
    const struct tide_owner *owner = tide_store_map_at(&view->owners_map, cell, sizeof *owner);
    uint32_t stack = owner ? __atomic_load_n(&owner->stack, __ATOMIC_RELAXED) : 0;
    if (!stack || !(any[stack / 64 % 16] >> stack % 64 & 1))
      continue;
    struct tide_top_value *value = value_of(tops->stacks, tops->n_stacks, stack);
    if (value)
      value->bytes = (int64_t)((uint64_t)value->bytes + (uint64_t)seen_bytes(intervals, cell));
  }
}

void tide_tops_choose(struct tide_tops *tops, const struct tide_intervals *intervals,
                      const struct tide_store_view *view, uint32_t n_most)
{
  struct tide_top_cells top = intervals->top;
  tops->n_stacks = tops->n_cells = 0;
  if (!view->cells_map.items || !view->owners_map.items)
    return;
  choose_stacks(tops, &top, n_most);
  sum_stacks(tops, intervals, view);
  for (uint32_t i = 0; i < top.n; i++)
    if (value_of(tops->stacks, tops->n_stacks, top.items[i].stack)) {
      struct tide_top_cell *cell = &tops->cells[tops->n_cells++];
      *cell = top.items[i];
      cell->bytes = seen_bytes(intervals, cell->cell);
    }
}

// ---- looking ----

static int64_t bytes_now(const struct tide_store_view *view, uint32_t cell)
{
  const struct tide_cell *at = tide_store_map_at(&view->cells_map, cell, sizeof *at);
  struct tide_cell copy = {0};
  if (!at)
    return 0;
  copy.stamp.both = __atomic_load_n(&at->stamp.both, __ATOMIC_RELAXED);
  copy.stamp.interval = tide_stamp_interval(copy.stamp);
  copy.b_free = __atomic_load_n(&at->b_free, __ATOMIC_ACQUIRE);
  copy.b_alloc = __atomic_load_n(&at->b_alloc, __ATOMIC_RELAXED);
  if (tide_store_pairs_any(view, cell, 1))
    tide_store_pairs_add(view, cell, 1, &copy);
  return (int64_t)(copy.b_alloc - copy.b_free);
}

struct tide_top_value *tide_tops_read(const struct tide_tops *tops, struct tide_store_view *view)
{
  if (!tops->n_stacks)
    return NULL;
  struct tide_top_value *values = tide_alloc_array(tops->n_stacks, sizeof *values);
  memcpy(values, tops->stacks, tops->n_stacks * sizeof *values);
  tide_store_pairs_find(view);
  for (uint32_t i = 0; i < tops->n_cells; i++) {
    const struct tide_top_cell *cell = &tops->cells[i];
    struct tide_top_value *value = value_of(values, tops->n_stacks, cell->stack);
    uint64_t more = (uint64_t)bytes_now(view, cell->cell) - (uint64_t)cell->bytes;
    value->bytes = (int64_t)((uint64_t)value->bytes + more);
  }
  for (uint32_t i = 0; i < tops->n_stacks; i++)
    values[i].bytes = values[i].bytes > 0 ? values[i].bytes : 0;
  return values;
}

// ---- telling ----

// A value is told to about a thousandth of the most that its stack held, as it is drawn.
#define TOLD_MOST 1024

static uint32_t shift_for(int64_t most_bytes)
{
  uint32_t shift = 0;
  while (most_bytes >> shift >= TOLD_MOST)
    shift++;
  return shift;
}

// Every stack that has a value, by rising stack, with the most it held; an owned array.
static struct tide_top_value *list_stacks(const struct tide_top_tick *ticks, size_t n_ticks,
                                          size_t n_frames, size_t *ret_n)
{
  size_t n_all = 0, n = 0, used = 0;
  for (size_t i = 0; i < n_ticks; i++)
    n_all += ticks[i].n;
  struct tide_top_value *all = tide_alloc_array(n_all, sizeof *all);
  for (size_t i = 0; i < n_ticks; i++)
    for (uint32_t k = 0; k < ticks[i].n; k++)
      if (ticks[i].values[k].stack < n_frames)
        all[used++] = ticks[i].values[k];
  if (used)
    qsort(all, used, sizeof *all, values_by_stack);
  for (size_t i = 0; i < used; i++) {
    if (!n || all[n - 1].stack != all[i].stack)
      all[n++] = all[i];
    else if (all[n - 1].bytes < all[i].bytes)
      all[n - 1].bytes = all[i].bytes;
  }
  *ret_n = n;
  return all;
}

static void fill_held(const struct tide_top_tick *ticks, size_t n_ticks,
                      struct tide_held_bytes *held)
{
  held->bytes = tide_alloc_array(n_ticks, sizeof *held->bytes);
  for (size_t i = 0; i < n_ticks; i++) {
    held->bytes[i] = -1;
    for (uint32_t k = 0; k < ticks[i].n; k++)
      if (ticks[i].values[k].stack == held->stack)
        held->bytes[i] = ticks[i].values[k].bytes >> held->shift << held->shift;
  }
}

void tide_tops_fill_image(const struct tide_top_tick *ticks, struct tide_image *image)
{
  size_t n;
  struct tide_top_value *stacks =
      list_stacks(ticks, image->n_ticks, tide_image_n_frames(image), &n);
  if (n)
    qsort(stacks, n, sizeof *stacks, values_by_falling_bytes);
  n = n < TIDE_TOP_STACKS ? n : TIDE_TOP_STACKS;
  if (n)
    qsort(stacks, n, sizeof *stacks, values_by_stack);
  image->held = tide_alloc_array(n, sizeof *image->held);
  image->n_held = n;
  for (size_t i = 0; i < n; i++) {
    image->held[i] =
        (struct tide_held_bytes){.stack = stacks[i].stack, .shift = shift_for(stacks[i].bytes)};
    fill_held(ticks, image->n_ticks, &image->held[i]);
  }
  free(stacks);
}
