// SPDX-License-Identifier: Apache-2.0
//
// The rarer events: resizes and refusals.
#include "record/record.h"

#include "record/host.h"
#include "store/touch.h"

void tide_record_failed(void)
{
  if (tide_boot_ready())
    tide_add_relaxed(&tide_store.header->n_failed, 1);
}

// A block from before we came, or from before the fork.
void tide_record_unknown(const void *p)
{
  if (!tide_host.owns_block(p))
    tide_add_relaxed(&tide_store.header->n_unknown_free, 1);
}

void tide_record_free_if_known(struct tide_seat *seat, void *p)
{
  struct tide_thread *t = tide_enter(seat);
  if (!t) {
    tide_sample_free(seat, p);
    return;
  }
  bool known = tide_pairs_free_waiting(&t->writer, (uint64_t)p) ||
               tide_pairs_free_slowly(&t->writer, (uint64_t)p, t->clock.now);
  tide_leave_after(t, known ? TIDE_EVENT_FREE : TIDE_EVENT_NONE, p);
}

// The kernel gave no memory for it, or its part of the map is lost.
void tide_record_no_room(void)
{
  if (tide_load_relaxed(&tide_live_map.refused))
    tide_boot_off(TIDE_OFF_NO_MEMORY);
  else
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
}

// Apart, so that the usual case has to save no registers.
__attribute__((noinline)) static void *record_unusual(struct tide_thread *t, struct tide_cell *c,
                                                      void *p, size_t size)
{
  bool booked = c && tide_pairs_alloc_any(&t->writer, c, (uint64_t)p, size, t->clock.now);
  if (TIDE_UNLIKELY(!c))
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
  else if (TIDE_UNLIKELY(!booked))
    tide_record_no_room();
  tide_leave_after(t, booked ? TIDE_EVENT_ALLOC : TIDE_EVENT_NONE, p);
  return p;
}

static void *record_booked(struct tide_thread *t, struct tide_cell *c, void *p, size_t size);

// The first block of a cell after a peak.
__attribute__((noinline)) static void *record_past_peak(struct tide_thread *t, struct tide_cell *c,
                                                        void *p, size_t size)
{
  struct tide_stamp now = {.both = tide_load_relaxed(&tide_store.header->stamp.both)};
  return tide_cell_share_quickly(c, now) ? record_booked(t, c, p, size)
                                         : record_unusual(t, c, p, size);
}

// A block in a table that is not direct, or of a cell that needs more than counting.
__attribute__((noinline)) static void *record_hashed(struct tide_thread *t, struct tide_cell *c,
                                                     void *p, size_t size)
{
  if (TIDE_UNLIKELY(!tide_pairs_alloc_booked(&t->writer, TIDE_FORM_HASHED, c, (uint64_t)p, size,
                                             t->clock.now)))
    return record_unusual(t, c, p, size);
  return TIDE_LIKELY(tide_leave_quickly(t)) ? p : tide_leave_owing_alloc(t, p);
}

__attribute__((noinline)) static void *record_booked(struct tide_thread *t, struct tide_cell *c,
                                                     void *p, size_t size)
{
  if (TIDE_UNLIKELY(!c))
    return record_unusual(t, c, p, size);
  if (TIDE_UNLIKELY(!tide_cell_is_folded(c)))
    return record_past_peak(t, c, p, size);
  if (TIDE_UNLIKELY(!tide_pairs_alloc_booked(&t->writer, TIDE_FORM_DIRECT, c, (uint64_t)p, size,
                                             t->clock.now)))
    return record_hashed(t, c, p, size);
  return TIDE_LIKELY(tide_leave_quickly(t)) ? p : tide_leave_owing_alloc(t, p);
}

__attribute__((noinline)) void *tide_record_at(struct tide_thread *t, struct tide_cell *c, void *p,
                                               size_t size)
{
  if (TIDE_UNLIKELY(!tide_pairs_alloc_again(&t->writer, c, (uint64_t)p, size)))
    return record_booked(t, c, p, size);
  return TIDE_LIKELY(tide_leave_quickly(t)) ? p : tide_leave_owing_alloc(t, p);
}

// Of a thread that is not at work; NULL: it is, or has no state yet.
static struct tide_thread *idle_thread(const struct tide_seat *seat)
{
  struct tide_thread *t = seat->thread;
  if (!t || !t->idle)
    return NULL;
  t->idle = 0;
  TIDE_COMPILER_BARRIER();
  return t;
}

struct tide_resize tide_resize_begin(struct tide_seat *seat, void *old)
{
  struct tide_resize resize = {.touched = TIDE_TOUCH_UNKNOWN};
  if (!old || !tide_boot_ready())
    return resize;
  if (tide_samples.bits) {
    tide_sample_take(seat, old, &resize.sample);
    return resize;
  }
  struct tide_thread *t = idle_thread(seat);
  bool known = t ? tide_live_take(&t->writer.station, (uint64_t)old, &resize.block)
                 : tide_live_take_as_guest((uint64_t)old, &resize.block);
  if (!known)
    resize.block.cell = 0;
  else if (t && resize.block.size >= TIDE_LARGE_BYTES)
    resize.touched = tide_touch_look((uint64_t)old, resize.block.size, t->clock.now);
  if (t)
    tide_leave(t);
  return resize;
}

// The old block is still there. Puts it back as it was, though it may be another slot by now.
static void put_back(struct tide_thread *t, const struct tide_block *block, uint64_t old)
{
  struct tide_place place;
  bool large = block->size >= TIDE_LIVE_LARGE;
  struct tide_live words = {tide_live_what(block->cell, large ? TIDE_LIVE_LARGE : block->size),
                            block->when};
  if (!tide_live_make(&t->writer.station, old, words, &place)) {
    tide_record_no_room();
    return;
  }
  tide_live_put_at(&place, words);
  tide_live_leave(&t->writer.station);
  if (large)
    tide_live_large_put(old, block->size);
}

void tide_resize_failed(struct tide_seat *seat, struct tide_resize resize, void *old)
{
  struct tide_thread *t = resize.block.cell ? tide_enter(seat) : NULL;
  if (resize.sample.addr)
    tide_sample_put_back(seat, &resize.sample);
  if (t) {
    put_back(t, &resize.block, (uint64_t)old);
    tide_leave(t);
  }
  tide_record_failed();
}

static void unknown_resized(void *old)
{
  if (old && !tide_samples.bits && tide_boot_ready())
    tide_record_unknown(old);
}

// The address may be another thread's by now, so the map is left alone.
void tide_resize_freed(struct tide_seat *seat, struct tide_resize resize, void *old)
{
  if (resize.sample.addr)
    tide_sample_end(seat, &resize.sample);
  struct tide_thread *t = tide_enter(seat);
  if (!t)
    return;
  tide_pairs_settle(&t->writer);
  if (resize.block.cell) {
    tide_book_free(&t->writer, resize.block, (uint64_t)old, t->clock.now);
    tide_touch_count(&t->writer, resize.block.cell, resize.block.size, resize.touched);
  } else {
    unknown_resized(old);
  }
  tide_leave_after(t, resize.block.cell ? TIDE_EVENT_FREE : TIDE_EVENT_NONE, old);
}

// The old block lives on as the new one: its birth goes along, and its end is no end of a life.
// While recording is off, too, or what is live would not be true: only blocks that are not known
// stay so.
void tide_resize_done(struct tide_seat *seat, struct tide_resize resize, void *old, void *p,
                      size_t size, struct tide_regs r)
{
  if (resize.sample.addr && tide_sample_move(seat, &resize.sample, p, size))
    return;
  if (!seat->thread && tide_sample_passes(seat, size))
    return;
  if (!resize.block.cell) {
    struct tide_thread *t = tide_enter_alloc(seat); // first: a fork child may have to boot
    if (t)
      tide_record_block(t, p, size, r);
    else
      tide_sample_block(seat, p, size, r);
    unknown_resized(old);
    return;
  }
  struct tide_thread *t = tide_enter(seat);
  if (!t)
    return;
  uint64_t now = t->clock.now, old_size = resize.block.size;
  struct tide_end end = tide_end_of(&resize.block, now);
  tide_pairs_settle(&t->writer);
  bool foreign = tide_book_is_foreign(&t->writer, resize.block.cell, end.birth);
  struct tide_cell *from = tide_book_cell_of(&t->writer, resize.block.cell);
  if (from) {
    tide_book_leave(&t->writer, from, tide_ends_of(&t->writer, from), &end, now);
    if (foreign)
      tide_past_of(&t->writer, from)->n_foreign++;
    if (old != p || size < old_size) // one that grows where it is keeps its pages
      tide_touch_count(&t->writer, resize.block.cell, old_size, resize.touched);
  } else {
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
  }
  struct tide_cell *to = tide_capture(&t->unwind, r);
  if (TIDE_UNLIKELY(!to)) {
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
  } else if (TIDE_UNLIKELY(!tide_book_alloc(&t->writer, to, (uint64_t)p, size, end.birth, now))) {
    tide_record_no_room();
  } else {
    struct tide_past *past = tide_past_of(&t->writer, to);
    past->n_resize++;
    past->b_resize_old += old_size;
    past->b_resize_new += size;
    if (old != p) {
      past->n_moved++;
      past->b_moved += old_size;
    }
    if (size > old_size)
      t->writer.slot->b_grown += size - old_size;
  }
  t->tallied.resized_from = (uint64_t)old;
  t->tallied.resized_to = size;
  tide_leave_after(t, TIDE_EVENT_RESIZE, p);
}
