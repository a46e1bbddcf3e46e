// SPDX-License-Identifier: Apache-2.0
//
// Booking what has waited.
#include "store/run.h"

static void streak_add_many(struct tide_streak *s, uint32_t *counts, uint32_t bucket, uint32_t n)
{
  if (TIDE_LIKELY(s->bucket == bucket && s->count <= UINT32_MAX - n))
    s->count += n;
  else
    tide_book_turn(s, counts, bucket, n);
}

__attribute__((noinline)) void tide_run_settle(struct tide_writer *w)
{
  struct tide_run *run = &w->slot->run;
  if (!run->cell)
    return;
  struct tide_cell *c = &tide_store.cells[run->cell];
  struct tide_hist *hist = tide_hist_of(c);
  uint64_t n = run->n_ended, bytes = run->b_ended;
  // First: a reader misses it for a moment rather than to count it twice.
  tide_store_relaxed(&run->cell, 0);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  w->run_cell = NULL;
  c->t_last = run->birth;
  c->n_alloc += n;
  c->b_alloc += bytes;
  c->n_free += n;
  c->b_free += bytes;
  c->n_temp += n;
  c->b_temp += bytes;
  if (n)
    streak_add_many(&c->lives, hist->life, 0, (uint32_t)n);
  if (run->open) {
    uint64_t size = run->open - 1;
    n++;
    tide_store_relaxed(&run->open, 0);
    c->n_alloc++;
    c->b_alloc += size;
    c->birth_live_sum += run->birth;
    tide_store_relaxed(&w->slot->delta, w->slot->delta + (int64_t)size);
  }
  streak_add_many(&c->sizes, hist->size, run->bucket, (uint32_t)n);
}

// How much may be allocated now without concerning the peak.
TIDE_HOT int64_t room_for(const struct tide_thread_slot *s, const struct tide_cell *c)
{
  const struct tide_store_header *h = tide_store.header;
  int64_t total = TIDE_LIKELY(!tide_load_relaxed(&h->multi))
                      ? tide_load_relaxed(&h->max_bytes) - tide_load_relaxed(&h->live_bytes)
                      : (int64_t)s->flush_at;
  int64_t room = total - s->delta, own = c->high_bytes - tide_cell_live(c);
  return room < own ? room : own;
}

TIDE_HOT bool begin(struct tide_writer *w, struct tide_cell *c, uint64_t size, uint64_t now)
{
  struct tide_run *run = &w->slot->run;
  uint32_t interval = tide_cell_fold(c), bucket = tide_size_bucket(size);
  int64_t room = room_for(w->slot, c);
  if (TIDE_UNLIKELY((int64_t)size > room || bucket == TIDE_SIZE_BUCKETS - 1))
    return false;
  uint64_t to = 4ull << bucket;
  w->run_cell = c;
  w->run_from = bucket ? (2ull << bucket) + 1 : 0;
  w->run_span = (to < (uint64_t)room ? to : (uint64_t)room) - w->run_from;
  w->run_when = tide_live_when(interval, now);
  run->birth = now;
  run->interval = interval;
  run->bucket = bucket;
  run->n_ended = 0;
  run->b_ended = 0;
  tide_store_release(&run->cell, (uint32_t)(c - tide_store.cells));
  return true;
}

__attribute__((noinline)) bool tide_run_alloc_any(struct tide_writer *w, struct tide_cell *c,
                                                  uint64_t addr, uint64_t size, uint64_t now)
{
  if (!tide_run_goes_on(w, c, size)) {
    bool again = w->temp_cell == c || w->run_cell == c;
    tide_run_settle(w);
    if (!again || !begin(w, c, size, now))
      return tide_book_alloc(w, c, addr, size, now, now);
  }
  struct tide_live *live = tide_live_make(addr);
  if (live)
    tide_run_open(w, live, addr, size);
  return live;
}
