// SPDX-License-Identifier: Apache-2.0
//
// Bookkeeping of one event: counters, peak, lifetimes. Nothing here writes memory that another
// thread writes on its hot path.
//
// What an event touches, for the block at address x, allocated at the stack whose cell is c:
//
//     live map (live.h)            cell c, one line          its annexes, made when needed
//     (annex.h)
//    +----------------------+     +--------------------+     +---------------------------------+
//    | x: cell c, size,     | --> | n_alloc, b_alloc   | --> | ends: lives, temporaries,       |
//    |    when (birth and   |     | n_free, b_free     |     |   high_bytes, share of the peak |
//    |    interval)         |     | stamp (epoch and   |     | past: closings, resizes         |
//    +----------------------+     |   interval), sizes |     | hist: sizes, lives              |
//                                 +--------------------+     +---------------------------------+
//     the thread's slot: held (its live bytes)     the header: stamp, total (total.h)
//
// An allocation takes a place in the live map, adds to the total, looks at the stamp, counts in the
// cell, and last writes the block at its place. A free takes the block out of the map and goes on
// in the same order. Before a cell changes, its stamp is compared with the header's
// (tide_cell_fold): one compare tells whether a peak was found or an interval has ended since.
//
// The peak in O(1) per event. While live bytes rise, nothing is done. The first decrease below a
// new maximum (the falling edge) raises the header's epoch before the decrease is applied. A cell
// whose epoch is old has not changed since that edge: before it changes, its live bytes are its
// share of the peak. A cell that is never touched again still holds its share. See layout.h,
// invariant 3.
//
//     live bytes    the edge: epoch 7 -> 8, before this decrease
//        |         /
//        |       /\    a maximum
//        |      /  \/\   <- cell A changes for the first time since the edge: its epoch is still 7,
//        |     /      \     so it first notes what it holds: its share of the peak
//        |____/________\______ time
//
// What a stack did between two snapshots is told in the same way: the supervisor raises the
// header's interval, and a cell whose interval is old notes its counters before it changes. The end
// of a block that was born in another interval is counted once more, as a late free (late.h):
// whoever knows the late frees knows what was allocated in a range and outlived it.
//
// When the edge is found, alone and among other threads, is told in total.h.
#pragma once
#include "store/late.h"
#include "store/live.h"
#include "store/annex.h"
#include "store/total.h"

// The end of a streak: the cell's histogram takes it, and another begins.
void tide_book_turn_sizes(struct tide_writer *w, struct tide_cell *c, uint32_t bucket);
void tide_book_turn_lives(struct tide_writer *w, struct tide_ends *ends, uint32_t bucket,
                          uint32_t n);
// A histogram counter wrapped: notes the carry.
void tide_book_carry(uint32_t *count);
// The first event of a cell in an interval: notes what it did up to then. A single becomes a cell
// like any other.
void tide_book_close(struct tide_writer *w, struct tide_cell *c, uint32_t interval);

// The first event of a cell after a peak: notes its share of that. While a program grows there is a
// peak whenever it frees anything.
TIDE_HOT void tide_cell_share(struct tide_cell *c, struct tide_ends *ends, uint32_t epoch)
{
  ends->peak_bytes = tide_cell_live(c);
  ends->peak_blocks = (int64_t)(c->n_alloc - c->n_free);
  c->stamp.epoch = epoch;
}

// Has it seen the latest peak and the latest end of an interval?
TIDE_HOT bool tide_cell_is_folded(const struct tide_cell *c)
{
  return TIDE_LIKELY(c->stamp.both == tide_load_relaxed(&tide_store.header->stamp.both));
}

// Before a cell changes. Gives the interval that the event belongs to.
TIDE_HOT uint32_t tide_cell_fold(struct tide_writer *w, struct tide_cell *c)
{
  struct tide_stamp now = {.both = tide_load_relaxed(&tide_store.header->stamp.both)};
  if (TIDE_UNLIKELY(c->stamp.both != now.both)) {
    if (c->stamp.interval != now.interval)
      tide_book_close(w, c, now.interval);
    if (c->stamp.epoch != now.epoch)
      tide_cell_share(c, tide_ends_of(w, c), now.epoch);
  }
  return now.interval;
}

// One more in the same bucket. False: the streak is of another, or as long as it can be.
TIDE_HOT bool tide_streak_goes_on(struct tide_streak s, uint32_t bucket, struct tide_streak *ret)
{
  return !((s.word ^ bucket) % TIDE_STREAK_ANNEX_UNIT) &&
         TIDE_LIKELY(!__builtin_add_overflow(s.word, TIDE_STREAK_ONE, &ret->word));
}

TIDE_HOT void tide_sizes_add(struct tide_writer *w, struct tide_cell *c, uint32_t bucket)
{
  struct tide_streak longer;
  if (TIDE_LIKELY(tide_streak_goes_on(c->sizes, bucket, &longer)))
    c->sizes = longer;
  else
    tide_book_turn_sizes(w, c, bucket);
}

TIDE_HOT void tide_lives_add(struct tide_writer *w, struct tide_ends *ends, uint32_t bucket)
{
  struct tide_streak longer;
  if (TIDE_LIKELY(tide_streak_goes_on(ends->lives, bucket, &longer)))
    ends->lives = longer;
  else
    tide_book_turn_lives(w, ends, bucket, 1);
}

// A block that is the thread's latest from now on, and what was put there.
TIDE_HOT void tide_book_latest(struct tide_writer *w, const struct tide_place *place,
                               struct tide_cell *c, uint64_t addr, struct tide_live words,
                               uint64_t birth)
{
  w->prev = w->last;
  w->last = addr;
  w->last_place = *place;
  w->last_words = words;
  w->last_cell = c;
  w->last_birth = birth;
  w->temp_cell = NULL;
}

// Puts the thread's latest block at its place, and leaves the region of that.
TIDE_HOT void tide_book_put(struct tide_writer *w, const struct tide_place *place,
                            struct tide_cell *c, uint64_t addr, uint64_t what, uint64_t when,
                            uint64_t birth)
{
  struct tide_live words = {what, when | tide_live_key(addr)};
  tide_live_put_at(place, words);
  tide_book_latest(w, place, c, addr, words, birth);
  tide_live_leave(&w->station);
}

// An allocation of size bytes at addr, born at `birth` ticks (earlier than now for a resize).
// False: no room in the live map; nothing was counted.
TIDE_HOT bool tide_book_alloc(struct tide_writer *w, struct tide_cell *c, uint64_t addr,
                              uint64_t size, uint64_t birth, uint64_t now)
{
  struct tide_place place;
  bool large = size >= TIDE_LARGE_BYTES, untold = TIDE_UNLIKELY(large) && size >= TIDE_LIVE_LARGE;
  uint64_t what = tide_live_what(tide_cell_index(c), untold ? TIDE_LIVE_LARGE : size);
  struct tide_live words = {what, tide_live_when(0, birth)};
  if (TIDE_UNLIKELY(!tide_live_make(&w->station, addr, words, &place)))
    return false;
  tide_total_add(w, size);
  uint32_t interval = tide_cell_fold(w, c);
  c->n_alloc++;
  c->b_alloc += size;
  c->birth_live_sum += birth;
  c->t_last = now;
  tide_sizes_add(w, c, tide_size_bucket(size));
  tide_book_put(w, &place, c, addr, what, tide_live_when(interval, birth), birth);
  if (TIDE_UNLIKELY(large)) { // its end goes the general way
    if (untold)
      tide_live_large_put(addr, size);
    w->last_place = (struct tide_place){.region = &tide_live_nowhere, .table = ~0ull};
  }
  return true;
}

// Is the cell one of this thread's slot? Where there was never more than one slot all cells are.
TIDE_HOT bool tide_book_is_own(const struct tide_writer *w, uint32_t cell)
{
  return TIDE_LIKELY(!tide_load_relaxed(&tide_store.header->multi)) ||
         TIDE_LIKELY(tide_owner_at(cell)->slot == w->slot_id);
}

// Did another thread allocate the block? A slot may be second-hand: a block older than its present
// owner was a former owner's.
TIDE_HOT bool tide_book_is_foreign(const struct tide_writer *w, uint32_t cell, uint64_t birth)
{
  return birth < w->slot->adopted_at || !tide_book_is_own(w, cell);
}

// Whose counters does the end of a block of this cell go to? The thread's own cell of that stack.
// NULL: there is no room for one.
struct tide_cell *tide_book_cell_of(struct tide_writer *w, uint32_t cell);

// The end of a block in another interval than that of its birth is counted once more.
TIDE_HOT void tide_book_late(struct tide_late_row *late, uint64_t size)
{
  if (late) {
    late->n_blocks++;
    late->bytes += size;
  }
}

// The end of a block, as it is booked.
struct tide_end {
  uint64_t size;
  uint64_t birth; // as it was counted
  uint64_t life;  // ticks
  uint32_t born;  // interval
};

TIDE_HOT struct tide_end tide_end_of(const struct tide_block *block, uint64_t now)
{
  int64_t age = tide_block_age(block, now);
  return (struct tide_end){
      .size = block->size,
      .birth = (now - (uint64_t)age) & TIDE_LIVE_TICK_MASK,
      .life = age > 0 ? (uint64_t)age : 0,
      .born = tide_when_interval(block->when),
  };
}

// A block leaves its cell.
TIDE_HOT void tide_book_leave(struct tide_writer *w, struct tide_cell *c, struct tide_ends *ends,
                              const struct tide_end *end, uint64_t now)
{
  uint64_t size = end->size;
  tide_total_sub(w, size, now);
  uint32_t interval = tide_cell_fold(w, c);
  struct tide_late_row *late =
      end->born != interval ? tide_late_row(&w->lates, tide_cell_index(c), end->born, interval)
                            : NULL;
  int64_t live = tide_cell_live(c);
  if (TIDE_UNLIKELY(live > ends->high_bytes)) // own maximum, on the falling edge only
    ends->high_bytes = live;
  c->n_free++;
  c->b_free += size;
  c->birth_live_sum -= end->birth;
  tide_book_late(late, size);
}

// The end of a block of a cell that has no ends yet: makes it a single if it can be one. False: it
// cannot, and nothing was counted.
bool tide_book_end_single(struct tide_writer *w, struct tide_cell *c, const struct tide_end *end,
                          uint64_t now, bool temporary);

TIDE_HOT void tide_book_end(struct tide_writer *w, struct tide_cell *c, struct tide_ends *ends,
                            const struct tide_end *end, uint64_t now, bool temporary)
{
  tide_book_leave(w, c, ends, end, now);
  if (temporary) {
    ends->n_temp++;
    ends->b_temp += end->size;
  }
  ends->life_sum += end->life;
  tide_lives_add(w, ends, tide_life_bucket(end->life));
}

// The end of a block that the thread allocated itself.
TIDE_HOT void tide_book_end_own(struct tide_writer *w, struct tide_cell *c, struct tide_end end,
                                uint64_t now, bool temporary)
{
  struct tide_ends *ends = tide_ends_find(c);
  if (TIDE_UNLIKELY(!ends)) {
    struct tide_end copy = end; // so that the other one may stay in registers
    if (tide_book_end_single(w, c, &copy, now, temporary))
      return;
    ends = tide_ends_new(w, c);
  }
  tide_book_end(w, c, ends, &end, now, temporary);
}

// The end of a block that was one of the latest two, if not known as the latest.
void tide_book_end_temporary(struct tide_writer *w, struct tide_cell *c, const struct tide_end *end,
                             uint64_t now);

// The end of a foreign block.
void tide_book_end_foreign(struct tide_writer *w, uint32_t cell, const struct tide_end *end,
                           uint64_t now);

// Is addr the latest block of this thread, and still that one? Another thread may have freed it and
// been given the address again; its cell is then another's. If so, we are in its region, unless
// that has a direct table, as the first of these two knows.
TIDE_HOT bool tide_book_is_last_direct(const struct tide_writer *w, uint64_t addr)
{
  return addr == w->last &&
         TIDE_LIKELY(tide_load_relaxed(&w->last_place.slot->what) == w->last_words.what);
}

TIDE_HOT bool tide_book_is_last(struct tide_writer *w, uint64_t addr)
{
  if (TIDE_UNLIKELY(w->last_place.region))
    return addr == w->last && tide_live_again(&w->station, &w->last_place, &w->last_words);
  return tide_book_is_last_direct(w, addr);
}

// It is no more.
TIDE_HOT void tide_book_forget_last(struct tide_writer *w)
{
  tide_store_relaxed(w->last_place.word, 0); // the first of its slot, if it is one
  tide_live_leave(&w->station);
}

TIDE_HOT struct tide_end tide_end_of_last(const struct tide_writer *w, uint64_t now)
{
  // Of 52 bits. It may be less than nothing: the birth of a block that was resized.
  int64_t age = (int64_t)((now - w->last_birth) << 12) >> 12;
  return (struct tide_end){
      .size = w->last_words.what >> TIDE_LIVE_CELL_BITS,
      .birth = w->last_birth,
      .life = age > 0 ? (uint64_t)age : 0,
      .born = tide_when_interval(w->last_words.when),
  };
}

// The end of the latest block, in whose region we are.
TIDE_HOT void tide_book_free_last(struct tide_writer *w, uint64_t now)
{
  struct tide_cell *c = w->last_cell;
  tide_book_forget_last(w);
  tide_book_end_own(w, c, tide_end_of_last(w, now), now, true);
  w->temp_cell = c;
}

// The end of any block, already taken out of the live map.
TIDE_HOT void tide_book_free(struct tide_writer *w, struct tide_block block, uint64_t addr,
                             uint64_t now)
{
  struct tide_end end = tide_end_of(&block, now);
  if (TIDE_UNLIKELY(tide_book_is_foreign(w, block.cell, end.birth))) {
    struct tide_end copy = end;
    tide_book_end_foreign(w, block.cell, &copy, now);
    return;
  }
  // Exact: the block is ours, and our latest allocation at this address is one of the last two.
  if (TIDE_UNLIKELY(addr == w->prev || addr == w->last)) {
    struct tide_end copy = end;
    tide_book_end_temporary(w, &tide_store.cells[block.cell], &copy, now);
    return;
  }
  tide_book_end_own(w, &tide_store.cells[block.cell], end, now, false);
}
