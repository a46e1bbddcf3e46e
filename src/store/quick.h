// SPDX-License-Identifier: Apache-2.0
//
// The usual events, without a call: a block in a direct table or near its home in a hashed one, a
// cell that needs nothing made for it, a total that concerns nobody. What calls nobody has to save
// no registers. Each function here counts all or nothing: where it says false, book.h has the
// general way.
//
// What such an event waits for is memory and branches foreseen wrongly rather than instructions: a
// fetch of the ends when a block is allocated gained 5 ns where stacks vary, histograms without a
// branch 5 where lives do, though both take more instructions. Tried without gain: comparing the
// words of the last stack out of line (6 instructions less at a new stack, 12 more at the same);
// the general way for whatever turns a streak; one function for all ends, which saves registers for
// the rarest of them.
#pragma once
#include "store/book.h"

// The first event of a cell after a peak, if noting its share is all there is to do. False: it is
// not, and nothing was done.
TIDE_HOT bool tide_cell_share_quickly(struct tide_cell *c, struct tide_stamp now)
{
  struct tide_ends *ends = tide_ends_find(c);
  if (!ends || c->stamp.interval != now.interval)
    return false;
  tide_cell_share(c, ends, now.epoch);
  return true;
}

// Puts the thread's latest block at its place, which is known, in a table that is not packed.
TIDE_HOT void tide_book_put_again(struct tide_writer *w, struct tide_cell *c, uint64_t addr,
                                  uint64_t what, uint64_t when, uint64_t birth)
{
  struct tide_live words = {what, when | tide_live_key(addr)};
  w->last_words = words;
  w->last_cell = c;
  w->last_birth = birth;
  w->temp_cell = NULL;
  tide_live_put(w->last_place.slot, words);
}

// Which tables are looked at: direct ones, or hashed ones, too. The first is asked for before the
// second, by a function of its own: it has to save fewer registers.
enum tide_form { TIDE_FORM_DIRECT, TIDE_FORM_HASHED };

// A place that is at hand; in the region of a hashed table we are then. False: it is not.
TIDE_HOT bool tide_book_place(struct tide_writer *w, enum tide_form form, uint64_t number,
                              struct tide_place *ret_place)
{
  struct tide_live *slot = tide_live_direct_slot(number);
  if (form == TIDE_FORM_HASHED && !slot)
    slot = tide_live_odd_slot(number);
  *ret_place = (struct tide_place){{slot}, NULL, 0};
  return slot || (form == TIDE_FORM_HASHED && tide_live_claim_home(&w->station, number, ret_place));
}

// Leaves the region, if one was entered for this form.
TIDE_HOT void tide_book_leave_form(struct tide_writer *w, enum tide_form form)
{
  if (form == TIDE_FORM_HASHED)
    tide_live_leave(&w->station);
}

// A streak of sizes ends, of a cell that has a histogram for it, and another one begins. False: it
// is for tide_sizes_add(), and nothing was done.
TIDE_HOT bool tide_sizes_turn_quickly(struct tide_cell *c, uint32_t bucket)
{
  struct tide_ends *ends = tide_ends_find(c);
  struct tide_hist *hist = TIDE_LIKELY(ends) ? tide_hist_find(ends) : NULL;
  struct tide_streak old = c->sizes;
  uint32_t old_bucket = tide_streak_bucket(old), sum;
  if (TIDE_UNLIKELY(!hist) || TIDE_UNLIKELY(bucket >= TIDE_LARGE_BUCKET) ||
      TIDE_UNLIKELY(old_bucket >= TIDE_SIZE_BUCKETS))
    return false;
  uint32_t *count = &hist->size[old_bucket];
  if (TIDE_UNLIKELY(__builtin_add_overflow(*count, tide_streak_count(old), &sum)))
    return false;
  c->sizes.word =
      TIDE_STREAK_ONE + (old.word % TIDE_STREAK_ONE & -(uint64_t)TIDE_STREAK_ANNEX_UNIT) + bucket;
  __atomic_signal_fence(__ATOMIC_RELEASE); // see begin_streak()
  *count = sum;
  return true;
}

// The size of one more block. In direct tables alone, the usual ones, it turns no streak.
TIDE_HOT bool tide_sizes_add_quickly(struct tide_cell *c, enum tide_form form, uint64_t size)
{
  struct tide_streak longer;
  uint32_t bucket = tide_size_bucket_quickly(size);
  if (TIDE_UNLIKELY(!tide_streak_goes_on(c->sizes, bucket, &longer)))
    return form == TIDE_FORM_HASHED && tide_sizes_turn_quickly(c, bucket);
  c->sizes = longer;
  return true;
}

// An allocation of size bytes at addr; its cell is folded. False: not as usual, and nothing was
// counted.
TIDE_HOT bool tide_book_alloc_quickly(struct tide_writer *w, enum tide_form form,
                                      struct tide_cell *c, uint64_t addr, uint64_t size,
                                      uint64_t now)
{
  struct tide_place place;
  if (c != w->last_cell) // most blocks end soon: what that needs is on its way then
    __builtin_prefetch(tide_ends_at(tide_annex_offset(c->sizes)), 1);
  if (TIDE_UNLIKELY(!tide_book_place(w, form, addr >> 3, &place)))
    return false;
  if (TIDE_UNLIKELY(w->slot->held + (int64_t)size > w->high) ||
      TIDE_UNLIKELY(!tide_sizes_add_quickly(c, form, size))) {
    tide_book_leave_form(w, form);
    return false;
  }
  // What was needed above is made again: kept, it would take registers that have to be saved.
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  tide_store_relaxed(&w->slot->held, w->slot->held + (int64_t)size);
  c->n_alloc++;
  c->b_alloc += size;
  c->birth_live_sum += now;
  c->t_last = now;
  w->prev = w->last;
  w->last = addr;
  w->last_place.slot = place.slot;
  w->last_place.region = place.region;
  if (form == TIDE_FORM_HASHED)
    w->last_place.table = place.table;
  tide_book_put_again(w, c, addr, tide_live_what(tide_cell_index(c), size),
                      tide_live_when(c->stamp.interval, now), now);
  tide_book_leave_form(w, form);
  return true;
}

// One more life. Where lives are of all lengths, whether a streak goes on is as good as random, and
// a branch that is foreseen wrongly costs more than the histogram's line: then each is a streak of
// its own. False: that is for tide_lives_add(), and nothing was done.
TIDE_HOT bool tide_lives_add_quickly(struct tide_writer *w, struct tide_ends *ends, uint32_t bucket)
{
  struct tide_streak old = ends->lives, longer;
  uint32_t old_bucket = tide_streak_bucket(old), sum;
  if (!w->mixed_lives) {
    __asm__ volatile(""); // the compiler would ask the other question first
    if (tide_streak_goes_on(old, bucket, &longer)) {
      ends->lives = longer;
      return true;
    }
  }
  struct tide_hist *hist = tide_hist_of_streak(old);
  if (TIDE_UNLIKELY(!hist) || TIDE_UNLIKELY(bucket >= TIDE_LIFE_BUCKETS) ||
      TIDE_UNLIKELY(old_bucket >= TIDE_LIFE_BUCKETS))
    return false;
  uint32_t *count = &hist->life[old_bucket];
  if (TIDE_UNLIKELY(__builtin_add_overflow(*count, tide_streak_count(old), &sum)))
    return false;
  w->mixed_lives = old_bucket == bucket ? w->mixed_lives - 1 : TIDE_MIXED_LIVES;
  ends->lives.word =
      TIDE_STREAK_ONE + (old.word % TIDE_STREAK_ONE & -(uint64_t)TIDE_STREAK_ANNEX_UNIT) + bucket;
  __atomic_signal_fence(__ATOMIC_RELEASE); // see begin_streak()
  *count = sum;
  return true;
}

// What tide_end_of() says, but of one that seems to be yet to come the life is nonsense, of so many
// bits that it goes the long way (tide_lives_add_quickly()).
TIDE_HOT struct tide_end tide_end_of_quickly(const struct tide_block *block, uint64_t now)
{
  uint64_t born = block->when >> TIDE_LIVE_BORN_SHIFT << TIDE_LIVE_BORN_SHIFT;
  uint64_t age = (tide_live_born(now) - born) >> (TIDE_LIVE_BORN_SHIFT - tide_live_unit_bits());
  return (struct tide_end){
      .size = block->size,
      .birth = (now - age) & TIDE_LIVE_TICK_MASK,
      .life = age,
      .born = tide_when_interval(block->when),
  };
}

// Has the cell seen the latest peak, and is this none?
TIDE_HOT bool tide_book_is_off_peak(const struct tide_writer *w, const struct tide_cell *c)
{
  return tide_cell_is_folded(c) && TIDE_LIKELY(w->slot->held <= w->crest);
}

// Makes it so, before the end of a block of the cell. False: there is more to do.
TIDE_HOT bool tide_book_pass_peak(struct tide_writer *w, struct tide_cell *c, uint64_t now)
{
  struct tide_store_header *h = tide_store.header;
  struct tide_ends *ends = tide_ends_find(c);
  if (!ends || c->stamp.interval != tide_load_relaxed(&h->stamp.interval))
    return false;
  if (w->slot->held > w->crest && TIDE_UNLIKELY(!tide_total_crest(w, w->slot->held, now)))
    return false;
  tide_cell_share(c, ends, tide_load_relaxed(&h->stamp.epoch));
  return true;
}

// The end of a block of this cell, off the peak, in the usual case: nobody has to be called. It is
// in `slot`. False: it is not, and nothing was counted.
TIDE_HOT bool tide_book_end_quickly(struct tide_writer *w, struct tide_cell *c,
                                    struct tide_live *slot, struct tide_end end, bool temporary)
{
  struct tide_thread_slot *thread = w->slot;
  struct tide_ends *ends = tide_ends_find(c);
  int64_t held = thread->held - (int64_t)end.size;
  uint32_t bucket = tide_life_bucket_quickly(end.life);
  struct tide_streak lives = {0};
  if (TIDE_UNLIKELY(!ends) || TIDE_UNLIKELY(held < w->low) ||
      TIDE_UNLIKELY(end.born != c->stamp.interval))
    return false;
  if (!temporary && TIDE_UNLIKELY(!tide_lives_add_quickly(w, ends, bucket)))
    return false;
  if (temporary && TIDE_UNLIKELY(!tide_streak_goes_on(ends->lives, bucket, &lives)))
    return false;
  tide_store_relaxed(&slot->what, 0);
  tide_store_relaxed(&thread->held, held);
  int64_t live = tide_cell_live(c);
  if (TIDE_UNLIKELY(live > ends->high_bytes))
    ends->high_bytes = live;
  c->n_free++;
  c->b_free += end.size;
  c->birth_live_sum -= end.birth;
  if (temporary) {
    ends->n_temp++;
    ends->b_temp += end.size;
    ends->lives = lives;
  }
  ends->life_sum += end.life;
  return true;
}

// Is addr the latest block, if that is still there, in a direct table?
TIDE_HOT bool tide_book_may_be_last(const struct tide_writer *w, uint64_t addr)
{
  return addr == w->last && TIDE_LIKELY(!w->last_place.region);
}

// A block in a direct table, or at home in a hashed one, that may end without a call.
struct tide_quick {
  struct tide_live *slot;
  struct tide_cell *c;
  struct tide_end end;
};

// Is the latest block, in a direct table, still that one?
TIDE_HOT bool tide_book_last_is_there(const struct tide_writer *w)
{
  return TIDE_LIKELY(tide_load_relaxed(&w->last_place.slot->what) == w->last_words.what);
}

// The end of the latest block, off the peak, in the usual case. False: it is not, and nothing was
// counted. What is needed of the block is loaded again once it is known to end here: kept, it would
// take registers that have to be saved.
TIDE_HOT bool tide_book_end_last_quickly(struct tide_writer *w, struct tide_cell *c, uint64_t now)
{
  struct tide_ends *ends = tide_ends_find(c);
  uint64_t life = now - w->last_birth, size = w->last_words.what >> TIDE_LIVE_CELL_BITS;
  int64_t held = w->slot->held - (int64_t)size;
  struct tide_streak lives;
  if (TIDE_UNLIKELY(!ends) || TIDE_UNLIKELY(held < w->low) ||
      TIDE_UNLIKELY(tide_when_interval(w->last_words.when) != c->stamp.interval) ||
      TIDE_UNLIKELY(!tide_streak_goes_on(ends->lives, tide_life_bucket_quickly(life), &lives)))
    return false;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  tide_store_relaxed(&w->last_place.slot->what, 0);
  tide_store_relaxed(&w->slot->held, held);
  int64_t live = tide_cell_live(c);
  if (TIDE_UNLIKELY(live > ends->high_bytes))
    ends->high_bytes = live;
  c->n_free++;
  c->b_free += size;
  c->birth_live_sum -= w->last_birth;
  ends->n_temp++;
  ends->b_temp += size;
  ends->lives = lives;
  ends->life_sum += life;
  w->temp_cell = c;
  return true;
}

// Another one than the latest. False: it is not to be told quickly.
TIDE_HOT bool tide_book_find_other(const struct tide_writer *w, uint64_t addr, uint64_t now,
                                   struct tide_quick *ret)
{
  struct tide_live words;
  if (TIDE_UNLIKELY(addr == w->prev) || TIDE_UNLIKELY(addr == w->last))
    return false;
  struct tide_live *slot = tide_live_find_quickly(addr, &words);
  if (TIDE_UNLIKELY(!slot))
    return false;
  struct tide_block block = tide_live_block(words.what, words.when);
  struct tide_end end = tide_end_of_quickly(&block, now);
  *ret = (struct tide_quick){slot, &tide_store.cells[block.cell], end};
  return TIDE_LIKELY(!tide_book_is_foreign(w, block.cell, end.birth));
}

// Where a block is, in a direct table or in the line of its home in a hashed one; in the region of
// that we are then.
TIDE_HOT struct tide_live *tide_book_slot(struct tide_writer *w, uint64_t number)
{
  struct tide_place place;
  struct tide_live *slot = tide_live_direct_slot(number);
  slot = slot ? slot : tide_live_odd_slot(number);
  if (slot || !(slot = tide_live_enter_home(&w->station, number, &place)))
    return slot;
  slot = tide_live_in_line(slot, number % TIDE_LIVE_KEYS);
  if (TIDE_UNLIKELY(!slot))
    tide_live_leave(&w->station);
  return slot;
}

// The end of a block in a direct table, or near its home in a hashed one, that may be one of the
// latest two. False: it is not the usual case, and nothing was counted.
TIDE_HOT bool tide_book_free_hashed(struct tide_writer *w, uint64_t addr, uint64_t now)
{
  struct tide_live words;
  uint64_t number = tide_live_number(addr);
  struct tide_live *slot =
      TIDE_LIKELY(tide_live_plausible(number)) ? tide_book_slot(w, number) : NULL;
  if (TIDE_UNLIKELY(!slot))
    return false;
  bool ended = false;
  if (TIDE_LIKELY(tide_live_words(slot, number % TIDE_LIVE_KEYS, &words))) {
    struct tide_block block = tide_live_block(words.what, words.when);
    struct tide_end end = tide_end_of_quickly(&block, now);
    struct tide_cell *c = &tide_store.cells[block.cell];
    bool last = addr == w->last;
    ended = TIDE_LIKELY(!tide_book_is_foreign(w, block.cell, end.birth)) &&
            (TIDE_LIKELY(tide_book_is_off_peak(w, c)) || tide_book_pass_peak(w, c, now)) &&
            tide_book_end_quickly(w, c, slot, end, last || addr == w->prev);
    if (ended && last)
      w->temp_cell = c;
  }
  tide_live_leave(&w->station);
  return ended;
}
