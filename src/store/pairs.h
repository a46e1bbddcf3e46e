// SPDX-License-Identifier: Apache-2.0
//
// Pairs: each is an allocation and its end at one stack, with no other event of the thread in
// between. A pair leaves every total as it was, so a thousand of them can be booked as one. They
// wait in the thread's slot until something else happens:
//
//     the thread's events              its slot's pairs                       booked in cells
//     ---------------------------      ------------------------------------   ------------------
//     malloc at A, 32 bytes  -> x                                             A: +1 block, +32
//     free x                           (A is where the next may wait)         A: freed, temporary
//     malloc at A, 40 bytes  -> y      cell A, open = 40 + 1
//     free y                           cell A, n_ended 1, b_ended 40
//     malloc at A, 24 bytes  -> z      cell A, n_ended 1, b_ended 40, open 25
//     free z                           cell A, n_ended 2, b_ended 64
//     malloc at B, 16 bytes  -> w      settled: empty                         A: 2 pairs, 64 bytes
//                                                                             B: +1 block, +16
//
// Pairs begin with a block that comes after a temporary of the same cell. The thread's next event
// tells what becomes of that block: freed at once, it is a pair more, and the next like it goes on
// with them; else the pairs are settled, and the event is booked after them.
//
// Nothing of the peak ever waits. A block is booked at once if it would raise the total above its
// maximum (or, where several threads allocate, make the thread publish what it holds), or its
// cell's live bytes above theirs: pairs_room is what is left below both.
//
// Whoever reads the store adds what waits (observe/store_view.c), so a killed thread loses nothing.
// Another thread may free the block that is there: its end is booked in that thread's own cell, and
// the pairs need not know.
#pragma once
#include "rt/cost.h"
#include "store/quick.h"

#ifndef TIDE_PAUSE // a test may hold a thread up between two stores
#define TIDE_PAUSE() ((void)0)
#endif

// Books what waits, if anything does.
void tide_pairs_settle(struct tide_writer *w);

// A new block in the general case. Begins pairs with it if it may wait and if it comes after a
// temporary of the same cell. Gives what tide_pairs_alloc() gives.
bool tide_pairs_alloc_any(struct tide_writer *w, struct tide_cell *c, uint64_t addr, uint64_t size,
                          uint64_t now);

TIDE_HOT uint32_t *tide_pairs_size_count(const struct tide_writer *w, uint64_t size)
{
  return &w->pairs_sizes[tide_size_bucket_quickly(size + !size)];
}

// What is told of a block that waits, and is put at its place next.
TIDE_HOT void tide_pairs_open(struct tide_writer *w, uint64_t size)
{
  struct tide_pairs *pairs = &w->slot->pairs;
  uint32_t *count = tide_pairs_size_count(w, size);
  if (TIDE_UNLIKELY(!++*count))
    tide_book_carry(count);
  pairs->birth = w->pairs_birth;
  TIDE_PAUSE();
  tide_store_relaxed(&pairs->open, size + 1); // a flush of another thread may read it
  TIDE_PAUSE();
}

TIDE_HOT bool tide_pairs_goes_on(const struct tide_writer *w, const struct tide_cell *c,
                                 uint64_t size)
{
  return w->pairs_cell == c && TIDE_LIKELY(!w->slot->pairs.open) &&
         TIDE_LIKELY(size <= w->pairs_room);
}

// A new block at addr that goes on with the pairs where the one before was: an allocator often
// gives out again what was freed just now. Calls nobody. False: nothing was done.
TIDE_HOT bool tide_pairs_alloc_again(struct tide_writer *w, struct tide_cell *c, uint64_t addr,
                                     uint64_t size)
{
  if (!tide_pairs_goes_on(w, c, size) || TIDE_UNLIKELY(addr != w->last) ||
      TIDE_UNLIKELY(w->last_place.region) ||
      TIDE_UNLIKELY(!(*tide_pairs_size_count(w, size) + 1))) // full
    return false;
  tide_pairs_open(w, size);
  w->prev = addr;
  tide_book_put_again(w, c, addr, tide_live_what(w->waiting_index, size), w->pairs_when,
                      w->pairs_birth);
  return true;
}

// A new block at addr that does not wait, in the usual case; the cell is folded. Calls nobody.
// False: nothing was done.
TIDE_HOT bool tide_pairs_alloc_booked(struct tide_writer *w, enum tide_form form,
                                      struct tide_cell *c, uint64_t addr, uint64_t size,
                                      uint64_t now)
{
  // One that comes alone is sooner booked than it would wait.
  return (!TIDE_HAS(PAIRS) || w->temp_cell != c) && TIDE_LIKELY(!tide_writer_waits(w)) &&
         TIDE_LIKELY(tide_book_alloc_quickly(w, form, c, addr, size, now));
}

// A new block at addr. False: no room in the live map; nothing was counted.
TIDE_HOT bool tide_pairs_alloc(struct tide_writer *w, struct tide_cell *c, uint64_t addr,
                               uint64_t size, uint64_t now)
{
  return tide_pairs_alloc_again(w, c, addr, size) ||
         (tide_cell_is_folded(c) &&
          (TIDE_LIKELY(tide_pairs_alloc_booked(w, TIDE_FORM_DIRECT, c, addr, size, now)) ||
           tide_pairs_alloc_booked(w, TIDE_FORM_HASHED, c, addr, size, now))) ||
         tide_pairs_alloc_any(w, c, addr, size, now);
}

// To be called before an event when the pulse has moved, or now and then. What may wait, and for
// how long, may have changed with the number of threads.
void tide_pairs_turn(struct tide_writer *w);
TIDE_HOT void tide_pairs_look(struct tide_writer *w)
{
  if (TIDE_UNLIKELY(tide_total_calls(w)))
    tide_pairs_turn(w);
}

// The clock has moved. The next block may still go on with the pairs, if none has aged in it, its
// interval has not ended, and the room is what it was.
void tide_pairs_retime(struct tide_writer *w, uint64_t now);

// The block that waits is no more. It is the latest one, and known to be there.
TIDE_HOT void tide_pairs_end(struct tide_writer *w)
{
  struct tide_pairs *pairs = &w->slot->pairs;
  uint64_t open = tide_load_relaxed(&pairs->open);
  // First: a reader may find us anywhere in between, and what it has counted once stays counted.
  tide_store_relaxed(&pairs->open, 0);
  TIDE_PAUSE();
  tide_store_release(&pairs->n_ended, pairs->n_ended + 1);
  TIDE_PAUSE();
  tide_store_release(&pairs->b_ended, pairs->b_ended + open - 1);
}

// The end of a block, if that is the one that waits. False: nothing was done.
TIDE_HOT bool tide_pairs_free_waiting(struct tide_writer *w, uint64_t addr)
{
  if (!w->pairs_cell || !tide_load_relaxed(&w->slot->pairs.open) || !tide_book_is_last(w, addr))
    return false;
  tide_book_forget_last(w);
  tide_pairs_end(w);
  return true;
}

// The same in the usual case. Calls nobody. False: nothing was done.
TIDE_HOT bool tide_pairs_free_again(struct tide_writer *w, uint64_t addr)
{
  if (TIDE_UNLIKELY(w->last_place.region) || !tide_load_relaxed(&w->slot->pairs.open) ||
      TIDE_UNLIKELY(!w->pairs_cell) || !tide_book_is_last_direct(w, addr))
    return false;
  tide_store_relaxed(w->last_place.word, 0);
  tide_pairs_end(w);
  return true;
}

// The end of a block while none waits, in the usual case. False: it is not, and nothing was
// counted.
TIDE_HOT bool tide_pairs_free_quickly(struct tide_writer *w, uint64_t addr, uint64_t now)
{
  struct tide_quick block = {.c = w->last_cell};
  bool last = tide_book_may_be_last(w, addr);
  if (!(last ? tide_book_last_is_there(w) : tide_book_find_other(w, addr, now, &block)))
    return false;
  if (!tide_book_is_off_peak(w, block.c) && !tide_book_pass_peak(w, block.c, now))
    return false;
  return last ? tide_book_end_last_quickly(w, block.c, now)
              : tide_book_end_quickly(w, block.c, block.slot, block.end, false);
}

// The end of a block that is not found at once, or a large one. False: it is not known.
bool tide_pairs_free_searching(struct tide_writer *w, uint64_t addr, uint64_t now);

// The end of a block that does not wait, in any case. False: it is not known.
TIDE_HOT bool tide_pairs_free_slowly(struct tide_writer *w, uint64_t addr, uint64_t now)
{
  if (TIDE_UNLIKELY(tide_writer_waits(w)))
    tide_pairs_settle(w);
  if (tide_book_is_last(w, addr)) {
    tide_book_free_last(w, now);
    return true;
  }
  struct tide_live words;
  struct tide_live *slot = tide_live_find_quickly(addr, &words);
  if (TIDE_UNLIKELY(!slot))
    return tide_pairs_free_searching(w, addr, now);
  tide_store_relaxed(&slot->what, 0);
  tide_book_free(w, tide_live_block(words.what, words.when), addr, now);
  return true;
}

// The same, quickly where it can be. Hooks have the two apart, to save fewer registers.
TIDE_HOT bool tide_pairs_free_booked(struct tide_writer *w, uint64_t addr, uint64_t now)
{
  return (!tide_writer_waits(w) &&
          (tide_pairs_free_quickly(w, addr, now) || tide_book_free_hashed(w, addr, now))) ||
         tide_pairs_free_slowly(w, addr, now);
}
