// SPDX-License-Identifier: Apache-2.0
//
// Booking what has waited: tide_pairs_settle() adds the pairs to their cell, and
// tide_pairs_alloc_any() decides whether a new block waits with them. The drawing is in pairs.h.
#include "store/pairs.h"

#include "store/touch.h"

#define MAX_ENDED (1u << 29) // a streak counts in 30 bits

__attribute__((noinline)) void tide_pairs_settle(struct tide_writer *w)
{
  struct tide_pairs *pairs = &w->slot->pairs;
  struct tide_cell *c = w->waiting;
  if (!c)
    return;
  struct tide_ends *ends = tide_ends_of(w, c);
  uint64_t n = pairs->n_ended, bytes = pairs->b_ended;
  // First: a reader misses it for a moment rather than to count it twice.
  tide_store_relaxed(&pairs->cell, 0);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  w->waiting = w->pairs_cell = NULL;
  c->t_last = pairs->birth;
  c->n_alloc += n;
  c->b_alloc += bytes;
  c->n_free += n;
  c->b_free += bytes;
  ends->n_temp += n;
  ends->b_temp += bytes;
  if (TIDE_LIKELY(!tide_streak_bucket(ends->lives) &&
                  tide_streak_count(ends->lives) + n <= TIDE_STREAK_MOST))
    ends->lives.word += n * TIDE_STREAK_ONE;
  else if (n)
    tide_book_turn_lives(w, ends, 0, (uint32_t)n);
  uint64_t open = tide_load_relaxed(&pairs->open);
  if (open) {
    uint64_t size = open - 1;
    uint32_t epoch = tide_load_relaxed(&tide_store.header->stamp.epoch);
    // `found`: another thread has found a peak since the cell was last folded, and the cell has
    // still to note its share. Is the open block part of that peak? Yes if this thread was alone at
    // its latest event, which made the block (`older`): the other thread came after it. Else the
    // block may be younger than the peak, and the share is noted without it.
    bool found = c->stamp.epoch != epoch, older = tide_total_was_alone(w);
    if (found && !older)
      tide_cell_share(c, ends, epoch);
    tide_store_relaxed(&pairs->open, 0);
    c->n_alloc++;
    c->b_alloc += size;
    if (found && older)
      tide_cell_share(c, ends, epoch);
    c->birth_live_sum += pairs->birth;
    tide_store_relaxed(&w->slot->held, w->slot->held + (int64_t)size);
  }
}

// How much may be allocated now without concerning the peak.
TIDE_HOT int64_t room_for(const struct tide_writer *w, const struct tide_cell *c,
                          const struct tide_ends *ends)
{
  int64_t most = w->crest < w->high ? w->crest : w->high;
  int64_t room = most - w->slot->held, own = ends->high_bytes - tide_cell_live(c);
  room = room < own ? room : own;
  return room < TIDE_LARGE_BYTES ? room : TIDE_LARGE_BYTES - 1; // larger ones are looked at
}

TIDE_HOT bool pairs_begin(struct tide_writer *w, struct tide_cell *c, uint64_t size, uint64_t now)
{
  struct tide_pairs *pairs = &w->slot->pairs;
  uint32_t interval = tide_cell_fold(w, c);
  struct tide_ends *ends = tide_ends_of(w, c);
  struct tide_hist *hist = tide_hist_of(w, ends);
  int64_t room = room_for(w, c, ends);
  if (TIDE_UNLIKELY((int64_t)size > room))
    return false;
  w->waiting = w->pairs_cell = c;
  w->waiting_index = (uint32_t)(c - tide_store.cells);
  w->pairs_room = (uint64_t)room;
  w->pairs_when = tide_live_when(interval, now);
  w->pairs_birth = now;
  w->pairs_sizes = hist->size;
  pairs->interval = interval;
  pairs->n_ended = 0;
  pairs->b_ended = 0;
  tide_store_release(&pairs->cell, w->waiting_index);
  return true;
}

__attribute__((noinline)) bool tide_pairs_alloc_any(struct tide_writer *w, struct tide_cell *c,
                                                    uint64_t addr, uint64_t size, uint64_t now)
{
  if (!tide_pairs_goes_on(w, c, size)) {
    bool again = w->temp_cell == c || w->pairs_cell == c;
    tide_pairs_settle(w);
    if (!TIDE_HAS(PAIRS) || !again || !pairs_begin(w, c, size, now))
      return tide_book_alloc(w, c, addr, size, now, now);
  }
  struct tide_place place;
  uint64_t what = tide_live_what(w->waiting_index, size);
  struct tide_live words = {what, w->pairs_when};
  bool made = tide_live_make(&w->station, addr, words, &place);
  if (made) {
    tide_pairs_open(w, size);
    tide_book_put(w, &place, c, addr, what, w->pairs_when, w->pairs_birth);
  }
  return made;
}

__attribute__((noinline)) bool tide_pairs_free_searching(struct tide_writer *w, uint64_t addr,
                                                         uint64_t now)
{
  struct tide_block block;
  if (!tide_live_take_slowly(&w->station, addr, &block))
    return false;
  tide_book_free(w, block, addr, now);
  if (block.size >= TIDE_LARGE_BYTES)
    tide_touch_count(w, block.cell, block.size, tide_touch_look(addr, block.size, now));
  return true;
}

void tide_pairs_retime(struct tide_writer *w, uint64_t now)
{
  const struct tide_store_header *h = tide_store.header;
  const struct tide_pairs *pairs = &w->slot->pairs;
  if (pairs->open || pairs->n_ended > MAX_ENDED ||
      pairs->interval != tide_load_relaxed(&h->stamp.interval)) {
    w->pairs_cell = NULL;
  } else {
    w->pairs_when = tide_live_when(pairs->interval, now);
    w->pairs_birth = now;
  }
}

TIDE_COLD void tide_pairs_turn(struct tide_writer *w)
{
  tide_pairs_settle(w);
  tide_total_turn(w);
}
