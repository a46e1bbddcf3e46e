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

// Takes what a streak has counted into its histogram. First it is gone from the streak: a reader
// misses it for a moment rather than to count it twice.
TIDE_HOT void take_streak(struct tide_streak *streak, uint32_t *count)
{
  uint32_t n = tide_streak_count(*streak);
  streak->word %= TIDE_STREAK_ONE;
  *count += n;
  if (TIDE_UNLIKELY(*count < n))
    tide_book_carry(count);
}

TIDE_HOT void begin_streak(struct tide_streak *streak, uint32_t bucket, uint32_t n)
{
  uint64_t part = streak->word % TIDE_STREAK_ONE & -(uint64_t)TIDE_STREAK_PART_UNIT;
  streak->word = n * TIDE_STREAK_ONE + part + bucket;
}

__attribute__((noinline)) void tide_book_turn_sizes(struct tide_writer *w, struct tide_cell *c,
                                                    uint32_t bucket)
{
  if (tide_streak_count(c->sizes)) {
    struct tide_hist *hist = tide_hist_of(w, tide_ends_of(w, c));
    take_streak(&c->sizes, &hist->size[tide_streak_bucket(c->sizes) % TIDE_SIZE_BUCKETS]);
  }
  begin_streak(&c->sizes, bucket, 1);
}

__attribute__((noinline)) void tide_book_turn_lives(struct tide_writer *w, struct tide_ends *ends,
                                                    uint32_t bucket, uint32_t n)
{
  if (TIDE_LIKELY(tide_streak_count(ends->lives))) {
    uint32_t last = tide_streak_bucket(ends->lives);
    struct tide_hist *hist = tide_hist_of(w, ends);
    take_streak(&ends->lives, &hist->life[last < TIDE_LIFE_BUCKETS ? last : 0]);
  }
  begin_streak(&ends->lives, bucket, n);
}

// The reader looks at the interval, at the closings and at the counters, and at the interval again
// (capture/intervals.c): so a closing is whole before the interval moves, and the interval has
// moved before a counter does.
TIDE_COLD void tide_book_close(struct tide_writer *w, struct tide_cell *c, uint32_t interval)
{
  if (tide_cell_is_single(c))
    tide_cell_unfold(w, c);
  if (c->stamp.interval == interval)
    return;
  if (c->n_alloc | c->n_free) { // else there is nothing to note
    struct tide_closing *closings = tide_past_of(w, c)->closings;
    struct tide_closing *older = &closings[closings[1].interval < closings[0].interval];
    older->n_alloc = c->n_alloc;
    older->b_alloc = c->b_alloc;
    older->n_free = c->n_free;
    older->b_free = c->b_free;
    tide_store_release(&older->interval, c->stamp.interval);
  }
  tide_store_release(&c->stamp.interval, interval);
  __atomic_thread_fence(__ATOMIC_RELEASE);
}

// The stamp is read behind the total, which may have found a peak.
TIDE_COLD bool tide_book_end_single(struct tide_writer *w, struct tide_cell *c,
                                    const struct tide_block *block, uint64_t now, bool temporary)
{
  bool is_its = block->cell == (uint32_t)(c - tide_store.cells); // not another thread's
  if (!is_its || c->n_alloc != 1 || c->n_free || tide_cell_is_single(c))
    return false;
  uint64_t size = block->size;
  uint32_t born = tide_block_interval(block);
  tide_total_sub(w, size, now);
  struct tide_stamp stamp = {.both = tide_load_relaxed(&tide_store.header->stamp.both)};
  struct tide_late_row *late =
      born != stamp.interval ? tide_late_row(&w->lates, c, born, stamp.interval) : NULL;
  tide_cell_make_single(c, stamp, tide_block_life(block, now), temporary);
  tide_book_late(late, size);
  return true;
}
