// SPDX-License-Identifier: Apache-2.0
//
// The rare part of bookkeeping: publishing a thread's share of the live total.
#include "store/book.h"

// A thread that holds little publishes it all the same, in steps of an eighth of what it had: there
// may be a thousand such. One that has published much waits for the common limit.
static uint32_t next_flush_at(uint32_t now, int64_t limit)
{
  int64_t next = (int64_t)now + now / 8 + 8;
  next = next < limit ? next : limit;
  return next > UINT32_MAX ? UINT32_MAX : next > now ? (uint32_t)next : now;
}

// If the total was above the maximum and now falls, that was the peak. Half of the promised 0.1 %
// is shared out among the threads.
//
// The first thread was alone once and may sit on a large delta that it will publish at its next
// event: it is read along. It zeroes its delta before it adds, so nothing is ever seen twice.
TIDE_COLD void tide_book_flush(struct tide_thread_slot *slot)
{
  struct tide_store_header *h = tide_store.header;
  int64_t d = slot->delta;
  tide_store_release(&slot->delta, 0);
  int64_t before = tide_add_acq_rel(&h->live_bytes, d);
  const struct tide_thread_slot *first = &tide_store.slots[1];
  uint64_t open = tide_load_relaxed(&first->run.open);
  int64_t waiting = open ? (int64_t)open - 1 : 0;
  int64_t unseen = first != slot ? tide_load_relaxed(&first->delta) + waiting : 0;
  int64_t total = before + unseen, max = tide_load_relaxed(&h->max_bytes);
  int64_t n = tide_load_relaxed(&h->n_live_threads);
  if (n < 1)
    n = 1;
  if (d < 0)
    while (total > max)
      if (__atomic_compare_exchange_n(&h->max_bytes, &max, total, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
        tide_store_relaxed(&h->max_ticks, tide_cycles() >> TIDE_TICK_SHIFT);
        tide_add_relaxed(&h->stamp.epoch, 1);
        break;
      }
  int64_t share = (total + d) / 2000 / n;
  int64_t limit = share > TIDE_MIN_FLUSH ? share : TIDE_MIN_FLUSH;
  tide_store_relaxed(&h->flush_at, limit);
  tide_store_relaxed(&slot->flush_at, next_flush_at(slot->flush_at, limit));
}

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
