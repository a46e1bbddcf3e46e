// SPDX-License-Identifier: Apache-2.0
//
// Finding the pairs that wait, and adding them to what is booked.
#include "observe/store_view.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void add_pairs(struct tide_store_pairs *all, uint32_t slot, const struct tide_pairs *pairs)
{
  if (all->n == all->cap) {
    all->cap = all->cap ? all->cap * 2 : 16;
    all->items = tide_realloc_array(all->items, all->cap, sizeof *all->items);
  }
  all->items[all->n++] = (struct tide_slot_pairs){slot, *pairs};
}

static int by_cell(const void *a, const void *b)
{
  const struct tide_slot_pairs *x = a, *y = b;
  return (x->pairs.cell > y->pairs.cell) - (x->pairs.cell < y->pairs.cell);
}

void tide_store_pairs_find(struct tide_store_view *view)
{
  struct tide_thread_slot slots[32];
  const uint32_t n_block = sizeof slots / sizeof *slots;
  view->pairs.n = 0;
  for (uint32_t first = 1; first < view->header.n_slots; first += n_block) {
    uint32_t left = view->header.n_slots - first, n = left < n_block ? left : n_block;
    tide_store_view_items(view, &view->areas.slots, sizeof *slots, first, slots, n);
    for (uint32_t i = 0; i < n; i++)
      if (slots[i].pairs.cell)
        add_pairs(&view->pairs, first + i, &slots[i].pairs);
  }
  if (view->pairs.n > 1)
    qsort(view->pairs.items, view->pairs.n, sizeof *view->pairs.items, by_cell);
}

// The first pairs whose cell is at or behind `cell`.
static size_t first_pairs(const struct tide_store_pairs *all, uint32_t cell)
{
  size_t lo = 0, hi = all->n;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (all->items[mid].pairs.cell < cell)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

// The next pairs of a cell before `end` that are still as they were found; NULL: there are none.
static const struct tide_pairs *next_pairs(const struct tide_store_view *view, size_t *i,
                                           uint32_t end)
{
  const struct tide_store_pairs *all = &view->pairs;
  while (*i < all->n && all->items[*i].pairs.cell < end) {
    const struct tide_slot_pairs *found = &all->items[(*i)++];
    struct tide_thread_slot now;
    tide_store_view_items(view, &view->areas.slots, sizeof now, found->slot, &now, 1);
    if (!memcmp(&found->pairs, &now.pairs, sizeof now.pairs))
      return &found->pairs;
  }
  return NULL;
}

bool tide_store_pairs_any(const struct tide_store_view *view, uint32_t first, uint32_t n)
{
  size_t i = first_pairs(&view->pairs, first);
  return i < view->pairs.n && view->pairs.items[i].pairs.cell - first < n;
}

// Of another interval than the cell's: the pairs began after the cell was read.
static void add_to_cell(struct tide_cell *cell, const struct tide_pairs *pairs)
{
  if (cell->stamp.interval != pairs->interval)
    return;
  cell->n_alloc += pairs->n_ended + (pairs->open > 0);
  cell->b_alloc += pairs->b_ended + tide_pairs_open_bytes(pairs);
  cell->n_free += pairs->n_ended;
  cell->b_free += pairs->b_ended;
  cell->birth_live_sum += pairs->open ? pairs->birth : 0;
  cell->t_last = pairs->birth;
}

void tide_store_pairs_add(const struct tide_store_view *view, uint32_t first, uint32_t n,
                          struct tide_cell *cells)
{
  const struct tide_pairs *pairs;
  for (size_t i = first_pairs(&view->pairs, first); (pairs = next_pairs(view, &i, first + n));)
    add_to_cell(&cells[pairs->cell - first], pairs);
}

bool tide_store_pairs_ended(const struct tide_store_view *view, uint32_t cell, uint32_t interval,
                            uint64_t *ret_n, uint64_t *ret_bytes)
{
  const struct tide_pairs *pairs;
  *ret_n = *ret_bytes = 0;
  for (size_t i = first_pairs(&view->pairs, cell); (pairs = next_pairs(view, &i, cell + 1));)
    if (pairs->interval == interval) {
      *ret_n += pairs->n_ended;
      *ret_bytes += pairs->b_ended;
    }
  return *ret_n;
}
