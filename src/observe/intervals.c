// SPDX-License-Identifier: Apache-2.0
//
// Looking at cells that change meanwhile: twice, with their closings in between, each look in
// whatever order the kernel copies. The number of the interval is ours to raise, so during a walk a
// cell's own moves at most once.
//  - Counters of the first look are from before the number that the second look finds was left.
//  - Closings of numbers below the one that the first look finds were whole by then. The one being
//    written, if any, is of that number, and overwrites one that was taken at the last walk.
#define _GNU_SOURCE
#include "observe/intervals.h"

#include "base/alloc.h"
#include "observe/store_view.h"

#include <stdlib.h>
#include <string.h>

#define WIDE UINT16_MAX // as the interval of a cell
#define CHUNK_CELLS 4096u

struct collecting {
  struct tide_intervals *intervals;
  struct tide_store_view *view;
  uint32_t before;
  tide_interval_take *take;
  void *context;
  // Of the block at hand:
  struct first_look {
    struct tide_stamp stamp;
    struct tide_tally did;
  } * first;
  bool *wanted; // it may have changed
};

void tide_intervals_done(struct tide_intervals *intervals)
{
  for (size_t i = 0; i < intervals->n_chunks; i++)
    free(intervals->chunks[i]);
  free(intervals->chunks);
  free(intervals->wides);
  *intervals = (struct tide_intervals){0};
}

static struct tide_interval_cell *cell_at(struct tide_intervals *intervals, uint32_t id)
{
  size_t at = id / CHUNK_CELLS, before = intervals->n_chunks;
  if (at >= before) {
    intervals->n_chunks = at + at / 2 + 16;
    intervals->chunks =
        tide_realloc_array(intervals->chunks, intervals->n_chunks, sizeof *intervals->chunks);
    memset(intervals->chunks + before, 0,
           (intervals->n_chunks - before) * sizeof *intervals->chunks);
  }
  if (!intervals->chunks[at])
    intervals->chunks[at] = tide_alloc_array(CHUNK_CELLS, sizeof **intervals->chunks);
  return &intervals->chunks[at][id % CHUNK_CELLS];
}

static struct tide_interval_wide seen_of(const struct tide_intervals *intervals,
                                         const struct tide_interval_cell *c)
{
  if (c->interval == WIDE)
    return intervals->wides[c->b_alloc];
  return (struct tide_interval_wide){
      {c->n_alloc, c->b_alloc, c->n_free, c->b_free}, c->interval, c->closed};
}

static bool is_narrow(const struct tide_interval_wide *w)
{
  return w->seen.b_alloc <= UINT32_MAX && w->seen.b_free <= UINT32_MAX &&
         w->seen.n_alloc <= UINT16_MAX && w->seen.n_free <= UINT16_MAX && w->interval < WIDE &&
         w->closed <= UINT16_MAX;
}

static void see(struct tide_intervals *intervals, struct tide_interval_cell *c,
                const struct tide_interval_wide *now)
{
  if (c->interval == WIDE) {
    intervals->wides[c->b_alloc] = *now;
  } else if (is_narrow(now)) {
    *c = (struct tide_interval_cell){(uint32_t)now->seen.b_alloc, (uint32_t)now->seen.b_free,
                                     (uint16_t)now->seen.n_alloc, (uint16_t)now->seen.n_free,
                                     (uint16_t)now->interval,     (uint16_t)now->closed};
  } else {
    *c = (struct tide_interval_cell){.b_alloc = (uint32_t)intervals->n_wides, .interval = WIDE};
    TIDE_GROW(intervals->wides, intervals->n_wides, intervals->cap_wides);
    intervals->wides[intervals->n_wides++] = *now;
  }
}

uint32_t tide_interval_end(struct tide_store_view *view)
{
  struct tide_store_header *header = tide_store_view_shared(view);
  if (!header)
    return 0;
  uint32_t number = __atomic_load_n(&header->stamp.interval, __ATOMIC_RELAXED);
  if (number < TIDE_FIRST_INTERVAL || number >= TIDE_LAST_INTERVAL)
    return 0;
  __atomic_store_n(&header->stamp.interval, number + 1, __ATOMIC_SEQ_CST);
  return number;
}

// Counts only rise, unless the store is broken: then what was counted stays counted. A look in the
// middle of an event may also find less than the closing had.
static uint64_t since(uint64_t now, uint64_t *seen)
{
  uint64_t more = now > *seen ? now - *seen : 0;
  *seen += more;
  return more;
}

static void take_counts(struct collecting *c, struct tide_interval_wide *cell, uint32_t stack,
                        uint32_t interval, const struct tide_tally *now)
{
  struct tide_tally more = {
      .n_alloc = since(now->n_alloc, &cell->seen.n_alloc),
      .b_alloc = since(now->b_alloc, &cell->seen.b_alloc),
      .n_free = since(now->n_free, &cell->seen.n_free),
      .b_free = since(now->b_free, &cell->seen.b_free),
  };
  if (more.n_alloc || more.b_alloc || more.n_free || more.b_free)
    c->take(c->context, stack, interval, &more);
}

static void take_closing(struct collecting *c, struct tide_interval_wide *cell, uint32_t stack,
                         const struct tide_closing *closing, uint32_t first)
{
  if (closing->interval <= cell->closed || closing->interval >= first)
    return;
  cell->closed = closing->interval;
  take_counts(
      c, cell, stack, closing->interval,
      &(struct tide_tally){closing->n_alloc, closing->b_alloc, closing->n_free, closing->b_free});
}

// The second look: its closings, then its interval.
static void take_cell(struct collecting *c, const struct first_look *look, uint32_t stack,
                      const struct tide_cell *now, struct tide_interval_wide *cell)
{
  struct tide_closing closings[2];
  uint32_t first = tide_stamp_interval(look->stamp);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  tide_closings_read(c->view, now, look->stamp, closings);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  uint32_t present = tide_stamp_interval(
      (struct tide_stamp){.both = __atomic_load_n(&now->stamp.both, __ATOMIC_ACQUIRE)});
  bool swapped = closings[1].interval < closings[0].interval;
  take_closing(c, cell, stack, &closings[swapped], first);
  take_closing(c, cell, stack, &closings[!swapped], first);
  if (present < c->before)
    take_counts(c, cell, stack, present, &look->did);
}

static struct first_look look_first(const struct tide_cell *cell)
{
  return (struct first_look){
      .stamp.both = __atomic_load_n(&cell->stamp.both, __ATOMIC_ACQUIRE),
      .did.n_alloc = __atomic_load_n(&cell->n_alloc, __ATOMIC_RELAXED),
      .did.b_alloc = __atomic_load_n(&cell->b_alloc, __ATOMIC_RELAXED),
      .did.n_free = __atomic_load_n(&cell->n_free, __ATOMIC_RELAXED),
      .did.b_free = __atomic_load_n(&cell->b_free, __ATOMIC_RELAXED),
  };
}

void tide_resizes_add(struct tide_resizes *sum, struct tide_store_view *view,
                      const struct tide_cell *cell)
{
  struct tide_past past;
  if (!tide_resizes_read(view, cell, &past))
    return;
  sum->n += past.n_resize;
  sum->b_old += past.b_resize_old;
  sum->b_new += past.b_resize_new;
}

static void add_to_heap(struct tide_tally *heap, const struct tide_tally *did)
{
  heap->n_alloc += did->n_alloc;
  heap->b_alloc += did->b_alloc;
  heap->n_free += did->n_free;
  heap->b_free += did->b_free;
}

// The first look at a block. True: some cells may have changed since the last walk.
static bool look_at_all(struct collecting *c, const struct tide_cell_block *block)
{
  bool any = false;
  for (uint32_t i = 0; i < block->n; i++) {
    uint32_t stack = block->owners[i].stack;
    c->wanted[i] = false;
    if (!stack)
      continue;
    struct first_look *first = &c->first[i];
    struct tide_interval_wide seen = seen_of(c->intervals, cell_at(c->intervals, block->first + i));
    *first = look_first(&block->cells[i]);
    c->wanted[i] = seen.interval != tide_stamp_interval(first->stamp) ||
                   memcmp(&seen.seen, &first->did, sizeof seen.seen) != 0;
    any |= c->wanted[i];
    if (first->did.n_alloc != first->did.n_free || first->did.b_alloc != first->did.b_free)
      c->intervals->n_live++;
    if (c->view->kinds[stack] != TIDE_SITE_PAGES) {
      add_to_heap(&c->intervals->heap, &first->did);
      tide_resizes_add(&c->intervals->resizes, c->view, &block->cells[i]);
    }
  }
  return any;
}

static void take_block(void *context, const struct tide_cell_block *block)
{
  struct collecting *c = context;
  if (!look_at_all(c, block))
    return;
  const struct tide_cell *now = tide_store_view_cells_now(c->view, block);
  for (uint32_t i = 0; i < block->n; i++) {
    if (!c->wanted[i])
      continue;
    struct tide_interval_cell *cell = cell_at(c->intervals, block->first + i);
    struct tide_interval_wide seen = seen_of(c->intervals, cell);
    seen.interval = tide_stamp_interval(c->first[i].stamp);
    take_cell(c, &c->first[i], block->owners[i].stack, &now[i], &seen);
    see(c->intervals, cell, &seen);
  }
}

void tide_intervals_collect(struct tide_intervals *intervals, struct tide_store_view *view,
                            uint32_t before, tide_interval_take *take, void *context)
{
  struct collecting c = {
      .intervals = intervals,
      .view = view,
      .before = before,
      .take = take,
      .context = context,
      .first = tide_alloc_array(TIDE_STORE_BLOCK_CELLS, sizeof *c.first),
      .wanted = tide_alloc_array(TIDE_STORE_BLOCK_CELLS, sizeof *c.wanted),
  };
  intervals->n_live = 0;
  intervals->heap = (struct tide_tally){0};
  intervals->resizes = (struct tide_resizes){0};
  tide_store_view_map(view); // a copy could be made of two moments, and in any order
  tide_store_view_cells(view, take_block, &c);
  free(c.first);
  free(c.wanted);
}
