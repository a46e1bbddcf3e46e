// SPDX-License-Identifier: Apache-2.0
//
// Booking what has waited.
#include "store/run.h"

#define MAX_ENDED (1u << 30) // histograms count in 32 bits

__attribute__((noinline)) void tide_run_settle(struct tide_writer *w)
{
  struct tide_run *run = &w->slot->run;
  struct tide_cell *c = w->waiting;
  if (!c)
    return;
  uint64_t n = run->n_ended, bytes = run->b_ended;
  // First: a reader misses it for a moment rather than to count it twice.
  tide_store_relaxed(&run->cell, 0);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  w->waiting = w->run_cell = NULL;
  c->t_last = run->birth;
  c->n_alloc += n;
  c->b_alloc += bytes;
  c->n_free += n;
  c->b_free += bytes;
  c->n_temp += n;
  c->b_temp += bytes;
  if (TIDE_LIKELY(!c->lives.bucket && c->lives.count <= UINT32_MAX - n))
    c->lives.count += (uint32_t)n;
  else if (n)
    tide_book_turn(&c->lives, tide_hist_of(c)->life, 0, (uint32_t)n);
  uint64_t open = tide_load_relaxed(&run->open);
  if (open) {
    uint64_t size = open - 1;
    uint32_t epoch = tide_load_relaxed(&tide_store.header->stamp.epoch);
    if (c->stamp.epoch != epoch) // another thread has found a peak: the block may be younger
      tide_cell_share(c, epoch);
    tide_store_relaxed(&run->open, 0);
    c->n_alloc++;
    c->b_alloc += size;
    c->birth_live_sum += run->birth;
    tide_store_relaxed(&w->slot->delta, w->slot->delta + (int64_t)size);
  }
}

// How much may be allocated now without concerning the peak.
TIDE_HOT int64_t room_for(const struct tide_thread_slot *s, const struct tide_cell *c)
{
  const struct tide_store_header *h = tide_store.header;
  int64_t total = TIDE_LIKELY(!tide_load_relaxed(&h->multi))
                      ? tide_load_relaxed(&h->max_bytes) - tide_load_relaxed(&h->live_bytes)
                      : (int64_t)s->flush_at;
  int64_t room = total - s->delta, own = c->high_bytes - tide_cell_live(c);
  room = room < own ? room : own;
  return room < (int64_t)TIDE_LIVE_MAX_SIZE ? room : (int64_t)TIDE_LIVE_MAX_SIZE;
}

TIDE_HOT bool begin(struct tide_writer *w, struct tide_cell *c, uint64_t size, uint64_t now)
{
  struct tide_run *run = &w->slot->run;
  uint32_t interval = tide_cell_fold(c);
  int64_t room = room_for(w->slot, c);
  if (TIDE_UNLIKELY((int64_t)size > room))
    return false;
  w->waiting = w->run_cell = c;
  w->waiting_index = (uint32_t)(c - tide_store.cells);
  w->run_room = (uint64_t)room;
  w->run_when = tide_live_when(interval, now);
  w->run_sizes = tide_hist_of(c)->size;
  run->interval = interval;
  run->n_ended = 0;
  run->b_ended = 0;
  tide_store_release(&run->cell, w->waiting_index);
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

void tide_run_retime(struct tide_writer *w, uint64_t now)
{
  const struct tide_store_header *h = tide_store.header;
  const struct tide_run *run = &w->slot->run;
  bool alone_no_more = tide_load_relaxed(&h->multi) && w->run_room > w->slot->flush_at;
  if (run->open || run->n_ended > MAX_ENDED || alone_no_more ||
      run->interval != tide_load_relaxed(&h->stamp.interval))
    w->run_cell = NULL;
  else
    w->run_when = tide_live_when(run->interval, now);
}
