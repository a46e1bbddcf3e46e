// SPDX-License-Identifier: Apache-2.0
//
// Finding what waits, and adding it to what is booked.
#include "observe/store_view.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void add_run(struct tide_store_runs *runs, uint32_t slot, const struct tide_run *run)
{
  if (runs->n == runs->cap) {
    runs->cap = runs->cap ? runs->cap * 2 : 16;
    runs->items = tide_realloc_array(runs->items, runs->cap, sizeof *runs->items);
  }
  runs->items[runs->n++] = (struct tide_store_run){slot, *run};
}

static int by_cell(const void *a, const void *b)
{
  const struct tide_store_run *x = a, *y = b;
  return (x->run.cell > y->run.cell) - (x->run.cell < y->run.cell);
}

void tide_store_runs_find(struct tide_store_view *view)
{
  struct tide_thread_slot slots[32];
  const uint32_t n_block = sizeof slots / sizeof *slots;
  view->runs.n = 0;
  for (uint32_t first = 1; first < view->header.n_slots; first += n_block) {
    uint32_t left = view->header.n_slots - first, n = left < n_block ? left : n_block;
    tide_store_view_items(view, &view->areas.slots, sizeof *slots, first, slots, n);
    for (uint32_t i = 0; i < n; i++)
      if (slots[i].run.cell)
        add_run(&view->runs, first + i, &slots[i].run);
  }
  if (view->runs.n > 1)
    qsort(view->runs.items, view->runs.n, sizeof *view->runs.items, by_cell);
}

// The first run whose cell is at or behind `cell`.
static size_t first_run(const struct tide_store_runs *runs, uint32_t cell)
{
  size_t lo = 0, hi = runs->n;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (runs->items[mid].run.cell < cell)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

// The next run of a cell before `end` that is still as it was found; NULL: there is none.
static const struct tide_run *next_run(const struct tide_store_view *view, size_t *i, uint32_t end)
{
  const struct tide_store_runs *runs = &view->runs;
  while (*i < runs->n && runs->items[*i].run.cell < end) {
    const struct tide_store_run *found = &runs->items[(*i)++];
    struct tide_thread_slot now;
    tide_store_view_items(view, &view->areas.slots, sizeof now, found->slot, &now, 1);
    if (!memcmp(&found->run, &now.run, sizeof now.run))
      return &found->run;
  }
  return NULL;
}

bool tide_store_runs_any(const struct tide_store_view *view, uint32_t first, uint32_t n)
{
  size_t i = first_run(&view->runs, first);
  return i < view->runs.n && view->runs.items[i].run.cell - first < n;
}

// Of another interval than the cell's: the run began after the cell was read.
static void add_to_cell(struct tide_cell *cell, const struct tide_run *run)
{
  if (cell->stamp.interval != run->interval)
    return;
  cell->n_alloc += run->n_ended + (run->open > 0);
  cell->b_alloc += run->b_ended + tide_run_open_bytes(run);
  cell->n_free += run->n_ended;
  cell->b_free += run->b_ended;
  cell->birth_live_sum += run->open ? run->birth : 0;
  cell->t_last = run->birth;
}

void tide_store_runs_add(const struct tide_store_view *view, uint32_t first, uint32_t n,
                         struct tide_cell *cells)
{
  const struct tide_run *run;
  for (size_t i = first_run(&view->runs, first); (run = next_run(view, &i, first + n));)
    add_to_cell(&cells[run->cell - first], run);
}

bool tide_store_runs_ended(const struct tide_store_view *view, uint32_t cell, uint32_t interval,
                           uint64_t *ret_n, uint64_t *ret_bytes)
{
  const struct tide_run *run;
  *ret_n = *ret_bytes = 0;
  for (size_t i = first_run(&view->runs, cell); (run = next_run(view, &i, cell + 1));)
    if (run->interval == interval) {
      *ret_n += run->n_ended;
      *ret_bytes += run->b_ended;
    }
  return *ret_n;
}
