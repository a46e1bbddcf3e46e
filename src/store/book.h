// SPDX-License-Identifier: Apache-2.0
//
// Bookkeeping of one event: counters, peak, lifetimes. Nothing here writes memory that another
// thread writes on its hot path.
//
// The peak in O(1) per event. While live bytes rise, nothing is done. The first decrease below a
// new maximum (the falling edge) raises header.epoch before the decrease is applied. A cell whose
// epoch is old has not changed since that edge: before it changes, its live bytes are its share of
// the peak. A cell never touched again still holds its share. See layout.h, invariant 3.
//
// What a stack did between two snapshots is told in the same way: the supervisor raises
// header.interval, and a cell whose interval is old notes its counters before it changes. One
// compare tells both. The end of a block that was born in another interval is counted once more, as
// a late free (late.h): whoever knows them knows what was allocated in a range and outlived it.
//
// When the edge is found, alone and among other threads, is told in total.h.
#pragma once
#include "store/late.h"
#include "store/live.h"
#include "store/parts.h"
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

TIDE_HOT bool tide_streak_goes_on(struct tide_streak s, uint32_t bucket)
{
  return tide_streak_bucket(s) == bucket &&
         TIDE_LIKELY(s.word < TIDE_STREAK_MOST * TIDE_STREAK_ONE);
}

TIDE_HOT void tide_sizes_add(struct tide_writer *w, struct tide_cell *c, uint32_t bucket)
{
  if (TIDE_LIKELY(tide_streak_goes_on(c->sizes, bucket)))
    c->sizes.word += TIDE_STREAK_ONE;
  else
    tide_book_turn_sizes(w, c, bucket);
}

TIDE_HOT void tide_lives_add(struct tide_writer *w, struct tide_ends *ends, uint32_t bucket)
{
  if (TIDE_LIKELY(tide_streak_goes_on(ends->lives, bucket)))
    ends->lives.word += TIDE_STREAK_ONE;
  else
    tide_book_turn_lives(w, ends, bucket, 1);
}

TIDE_HOT uint32_t tide_size_bucket(uint64_t size)
{
  uint32_t b = tide_bits((size - !!size) >> 2);
  return b < TIDE_SIZE_BUCKETS ? b : TIDE_SIZE_BUCKETS - 1;
}

TIDE_HOT uint32_t tide_life_bucket(uint64_t ticks)
{
  uint32_t b = tide_bits(ticks);
  return b < TIDE_LIFE_BUCKETS ? b : TIDE_LIFE_BUCKETS - 1;
}

// A block that is the thread's latest from now on. Leaves its region.
TIDE_HOT void tide_book_latest(struct tide_writer *w, const struct tide_place *place, uint64_t addr,
                               uint64_t what, uint64_t when)
{
  w->prev = w->last;
  w->last = addr;
  w->last_place = *place;
  w->last_what = what;
  w->temp_cell = NULL;
  tide_live_put(place->slot, addr, what, when);
  tide_live_leave(&w->station);
}

// An allocation of size bytes at addr, born at `birth` ticks (earlier than now for a resize).
// False: no room in the live map; nothing was counted.
TIDE_HOT bool tide_book_alloc(struct tide_writer *w, struct tide_cell *c, uint64_t addr,
                              uint64_t size, uint64_t birth, uint64_t now)
{
  struct tide_place place;
  if (TIDE_UNLIKELY(!tide_live_make(&w->station, addr, &place)))
    return false;
  uint32_t index = (uint32_t)(c - tide_store.cells);
  tide_total_add(w, size);
  uint32_t interval = tide_cell_fold(w, c);
  c->n_alloc++;
  c->b_alloc += size;
  c->birth_live_sum += birth;
  c->t_last = now;
  tide_sizes_add(w, c, tide_size_bucket(size));
  bool large = size >= TIDE_LIVE_LARGE;
  uint64_t what = tide_live_what(index, TIDE_UNLIKELY(large) ? TIDE_LIVE_LARGE : size);
  tide_book_latest(w, &place, addr, what, tide_live_when(interval, birth));
  if (TIDE_UNLIKELY(large))
    tide_live_large_put(addr, size);
  return true;
}

// The same in the usual case: nobody has to be called, so a hook has to save no registers. False:
// it is not, and nothing was counted.
TIDE_HOT bool tide_book_alloc_quickly(struct tide_writer *w, struct tide_cell *c, uint64_t addr,
                                      uint64_t size, uint64_t now)
{
  const struct tide_store_header *h = tide_store.header;
  struct tide_place place;
  struct tide_stamp stamp = {.both = tide_load_relaxed(&h->stamp.both)};
  int64_t held = w->slot->held + (int64_t)size;
  if (TIDE_UNLIKELY(size >= TIDE_LIVE_LARGE) ||
      TIDE_UNLIKELY(!tide_streak_goes_on(c->sizes, tide_size_bucket(size))) ||
      TIDE_UNLIKELY(held > w->high))
    return false;
  struct tide_ends *ends = NULL; // of a cell that has to note its share of a peak
  if (TIDE_UNLIKELY(c->stamp.both != stamp.both)) {
    ends = tide_ends_find(c);
    if (c->stamp.interval != stamp.interval || !ends)
      return false;
  }
  if (TIDE_UNLIKELY(!tide_live_make_quickly(&w->station, addr, &place)))
    return false;
  if (TIDE_UNLIKELY(ends))
    tide_cell_share(c, ends, stamp.epoch);
  uint32_t index = (uint32_t)(c - tide_store.cells);
  tide_store_relaxed(&w->slot->held, held);
  c->n_alloc++;
  c->b_alloc += size;
  c->birth_live_sum += now;
  c->t_last = now;
  c->sizes.word += TIDE_STREAK_ONE;
  tide_book_latest(w, &place, addr, tide_live_what(index, size),
                   tide_live_when(stamp.interval, now));
  return true;
}

// Whose counters does the end of this block go to? The thread's own cell of the block's stack.
// Where there was never more than one slot all cells are its own, and nobody has to be asked.
TIDE_HOT struct tide_cell *tide_book_cell_of(struct tide_writer *w, uint32_t cell, uint64_t birth,
                                             bool *ret_foreign)
{
  const struct tide_owner *o = &tide_store.owners[cell];
  // A slot may be second-hand: a block older than its present owner was a former owner's.
  *ret_foreign = birth < w->slot->adopted_at;
  if (TIDE_LIKELY(!tide_load_relaxed(&tide_store.header->multi) || o->slot == w->slot_id))
    return &tide_store.cells[cell];
  *ret_foreign = true;
  uint64_t hash = tide_load_relaxed(&o->hash);
  struct tide_cell *c = tide_writer_find(w, hash);
  return c ? c : tide_writer_cell_new(w, hash, o->stack);
}

// The end of a block in another interval than that of its birth is counted once more.
TIDE_HOT void tide_book_late(struct tide_late_row *late, uint64_t size)
{
  if (late) {
    late->n_blocks++;
    late->bytes += size;
  }
}

// A block leaves its cell.
TIDE_HOT void tide_book_leave(struct tide_writer *w, struct tide_cell *c, struct tide_ends *ends,
                              const struct tide_block *block, uint64_t now)
{
  uint64_t size = block->size;
  uint32_t born = tide_block_interval(block);
  tide_total_sub(w, size, now);
  uint32_t interval = tide_cell_fold(w, c);
  struct tide_late_row *late =
      born != interval ? tide_late_row(&w->lates, c, born, interval) : NULL;
  int64_t live = tide_cell_live(c);
  if (TIDE_UNLIKELY(live > ends->high_bytes)) // own maximum, on the falling edge only
    ends->high_bytes = live;
  c->n_free++;
  c->b_free += size;
  c->birth_live_sum -= tide_block_birth(block, now);
  tide_book_late(late, size);
}

TIDE_HOT uint64_t tide_block_life(const struct tide_block *block, uint64_t now)
{
  int64_t age = tide_block_age(block, now);
  return age > 0 ? (uint64_t)age : 0;
}

// The end of a block of a cell that has no ends yet: makes it a single if it can be one. False: it
// cannot, and nothing was counted.
bool tide_book_end_single(struct tide_writer *w, struct tide_cell *c,
                          const struct tide_block *block, uint64_t now, bool temporary);

TIDE_HOT void tide_book_end(struct tide_writer *w, struct tide_cell *c,
                            const struct tide_block *block, uint64_t now, bool temporary)
{
  struct tide_ends *ends = tide_ends_find(c);
  if (TIDE_UNLIKELY(!ends)) {
    if (tide_book_end_single(w, c, block, now, temporary))
      return;
    ends = tide_ends_new(w, c);
  }
  uint64_t life = tide_block_life(block, now);
  tide_book_leave(w, c, ends, block, now);
  ends->life_sum += life;
  tide_lives_add(w, ends, tide_life_bucket(life));
  if (temporary) {
    ends->n_temp++;
    ends->b_temp += block->size;
  }
}

// Is addr the latest block of this thread, and still that one? Another thread may have freed it and
// been given the address again; its cell is then another's. If so, we are in its region.
TIDE_HOT bool tide_book_is_last(struct tide_writer *w, uint64_t addr)
{
  if (addr != w->last || TIDE_UNLIKELY(!tide_live_again(&w->station, &w->last_place, addr)))
    return false;
  if (TIDE_LIKELY(tide_load_relaxed(&w->last_place.slot->what) == w->last_what))
    return true;
  tide_live_leave(&w->station);
  return false;
}

// The end of the latest block, in whose region we are.
TIDE_HOT void tide_book_free_last(struct tide_writer *w, uint64_t addr, uint64_t now)
{
  struct tide_block block = tide_live_take_at(&w->station, w->last_place.slot, addr);
  struct tide_cell *c = &tide_store.cells[block.cell];
  tide_book_end(w, c, &block, now, true);
  w->temp_cell = c;
}

// The end of any block, already taken out of the live map.
TIDE_HOT void tide_book_free(struct tide_writer *w, struct tide_block block, uint64_t addr,
                             uint64_t now)
{
  bool foreign;
  struct tide_cell *c = tide_book_cell_of(w, block.cell, tide_block_birth(&block, now), &foreign);
  if (TIDE_UNLIKELY(!c)) { // no room for even a lost event
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
    return;
  }
  // Exact: the block is ours, and our latest allocation at this address is one of the last two.
  bool temporary = !foreign && (addr == w->last || addr == w->prev);
  tide_book_end(w, c, &block, now, temporary);
  if (foreign)
    tide_past_of(w, c)->n_foreign++;
}
