// SPDX-License-Identifier: Apache-2.0
//
// The rare part of bookkeeping: histograms that turn or carry, and the ends of intervals.
#include "store/book.h"

// The carries mirror the histograms: the same place, another array.
TIDE_COLD void tide_book_carry(uint32_t *count)
{
  uint64_t at = (uint64_t)((char *)count - (char *)tide_store.hists);
  ++*(uint32_t *)((char *)tide_store.carries + at);
}

__attribute__((noinline)) void tide_book_turn(struct tide_streak *streak, uint32_t *counts,
                                              uint32_t bucket, uint32_t n)
{
  uint32_t last = tide_load_relaxed(&streak->bucket), before = streak->count;
  // There are fewer buckets for sizes, and then other numbers of the same cell.
  uint32_t *count = &counts[last < TIDE_LIFE_BUCKETS ? last : 0];
  streak->count = 0;
  *count += before;
  if (*count < before)
    tide_book_carry(count);
  *streak = (struct tide_streak){bucket, n};
}

// The reader looks at the interval, at the closings and at the counters, and at the interval again
// (capture/intervals.c): so a closing is whole before the interval moves, and the interval has
// moved before a counter does.
TIDE_COLD void tide_book_close(struct tide_cell *c, uint32_t interval)
{
  struct tide_closing *closings = tide_store.pasts[c - tide_store.cells].closings;
  struct tide_closing *older = &closings[closings[1].interval < closings[0].interval];
  older->n_alloc = c->n_alloc;
  older->b_alloc = c->b_alloc;
  older->n_free = c->n_free;
  older->b_free = c->b_free;
  tide_store_release(&older->interval, c->stamp.interval);
  tide_store_release(&c->stamp.interval, interval);
  __atomic_thread_fence(__ATOMIC_RELEASE);
}
