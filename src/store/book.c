// SPDX-License-Identifier: Apache-2.0
//
// The rare part of bookkeeping: histograms that turn or carry, and the ends of intervals.
#include "store/book.h"

// The carries mirror the histograms, near ones included: the same place, another array.
TIDE_COLD void tide_book_carry(uint32_t *count)
{
  uint64_t near = (uint64_t)((char *)count - tide_store.hists[0]);
  uint64_t far = (uint64_t)((char *)count - tide_store.hists[1]);
  uint64_t at = near < TIDE_NEAR_HISTS * sizeof(struct tide_hist) ? near : far;
  ++*(uint32_t *)(tide_store.base + tide_store.areas.carries.offset + at);
}

// A streak of n in a new bucket; the annex of the old one stays. Begun before the old one is added
// to the histogram: a reader misses that for a moment rather than to count it twice.
TIDE_HOT struct tide_streak begin_streak(struct tide_streak *streak, uint32_t bucket, uint32_t n)
{
  struct tide_streak old = *streak;
  uint64_t annex = old.word % TIDE_STREAK_ONE & -(uint64_t)TIDE_STREAK_ANNEX_UNIT;
  streak->word = n * TIDE_STREAK_ONE + annex + bucket;
  __atomic_signal_fence(__ATOMIC_RELEASE);
  return old;
}

TIDE_HOT void add_streak(uint32_t *count, struct tide_streak old)
{
  if (TIDE_UNLIKELY(__builtin_add_overflow(*count, tide_streak_count(old), count)))
    tide_book_carry(count);
}

// A size that makes no streak: see TIDE_LARGE_BUCKET.
static void count_large(struct tide_writer *w, struct tide_cell *c, uint32_t bucket)
{
  struct tide_hist *hist = tide_hist_of(w, tide_ends_of(w, c));
  struct tide_streak old = begin_streak(&c->sizes, TIDE_NO_BUCKET, 0);
  add_streak(&hist->size[tide_streak_bucket(old) % TIDE_SIZE_BUCKETS], old);
  add_streak(&hist->size[bucket], tide_streak_make(0, bucket, 1));
}

__attribute__((noinline)) void tide_book_turn_sizes(struct tide_writer *w, struct tide_cell *c,
                                                    uint32_t bucket)
{
  if (bucket >= TIDE_LARGE_BUCKET) {
    count_large(w, c, bucket);
    return;
  }
  struct tide_streak old = begin_streak(&c->sizes, bucket, 1);
  if (tide_streak_count(old)) {
    struct tide_hist *hist = tide_hist_of(w, tide_ends_of(w, c));
    add_streak(&hist->size[tide_streak_bucket(old) % TIDE_SIZE_BUCKETS], old);
  }
}

static uint32_t *life_count(struct tide_hist *hist, struct tide_streak old)
{
  uint32_t bucket = tide_streak_bucket(old);
  return &hist->life[bucket < TIDE_LIFE_BUCKETS ? bucket : TIDE_LIFE_BUCKETS - 1];
}

static TIDE_COLD void add_first_lives(struct tide_writer *w, struct tide_ends *ends,
                                      struct tide_streak old)
{
  if (tide_streak_count(old))
    add_streak(life_count(tide_hist_new(w, ends), old), old);
}

// Where lives are of all lengths, most ends come here.
__attribute__((noinline)) void tide_book_turn_lives(struct tide_writer *w, struct tide_ends *ends,
                                                    uint32_t bucket, uint32_t n)
{
  struct tide_streak old = begin_streak(&ends->lives, bucket, n);
  struct tide_hist *hist = tide_hist_of_streak(old); // not read back: what was stored takes a while
  if (TIDE_LIKELY(hist))
    add_streak(life_count(hist, old), old);
  else
    add_first_lives(w, ends, old);
}

// The reader looks at the interval, at the closings and at the counters, and at the interval again
// (observe/intervals.c): so a closing is whole before the interval moves, and the interval has
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
                                    const struct tide_end *end, uint64_t now, bool temporary)
{
  if (c->n_alloc != 1 || c->n_free || tide_cell_is_single(c))
    return false;
  tide_total_sub(w, end->size, now);
  struct tide_stamp stamp = {.both = tide_load_relaxed(&tide_store.header->stamp.both)};
  struct tide_late_row *late =
      end->born != stamp.interval
          ? tide_late_row(&w->lates, tide_cell_index(c), end->born, stamp.interval)
          : NULL;
  tide_cell_make_single(c, stamp, end->life, temporary);
  tide_book_late(late, end->size);
  return true;
}

struct tide_cell *tide_book_cell_of(struct tide_writer *w, uint32_t cell)
{
  const struct tide_owner *o = tide_owner_at(cell);
  if (tide_book_is_own(w, cell))
    return &tide_store.cells[cell];
  uint64_t hash = tide_load_relaxed(&o->hash);
  struct tide_cell *c = tide_writer_find(w, hash);
  if (!c && (c = tide_writer_cell_new(w, hash, o->stack)))
    tide_owner_at(tide_cell_index(c))->family = o->family;
  return c;
}

__attribute__((noinline)) void tide_book_end_temporary(struct tide_writer *w, struct tide_cell *c,
                                                       const struct tide_end *end, uint64_t now)
{
  tide_book_end_own(w, c, *end, now, true);
}

__attribute__((noinline)) void tide_book_end_foreign(struct tide_writer *w, uint32_t cell,
                                                     const struct tide_end *end, uint64_t now)
{
  struct tide_cell *c = tide_book_cell_of(w, cell);
  if (TIDE_UNLIKELY(!c)) { // no room for even a lost event
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
    return;
  }
  if (c == &tide_store.cells[cell]) // the block is one of those that it has counted
    tide_book_end_own(w, c, *end, now, false);
  else
    tide_book_end(w, c, tide_ends_of(w, c), end, now, false);
  tide_past_of(w, c)->n_foreign++;
}
