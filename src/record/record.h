// SPDX-License-Identifier: Apache-2.0
//
// One event, from a hook to the store.
#pragma once
#include "record/boot.h"
#include "record/real.h"
#include "record/thread.h"
#include "store/book.h"

// Every 1024th event or so is timed, for the report's estimate of our own cost. Chosen by bits of
// the cycle counter that are as good as random, so no counter is needed.
#define TIDE_SAMPLE_MASK 0x3ff0u

TIDE_HOT void tide_sample(struct tide_thread *t, uint64_t start_cycles)
{
  if (TIDE_UNLIKELY(!(start_cycles & TIDE_SAMPLE_MASK))) {
    t->writer.slot->sampled_ticks += (tide_cycles() - start_cycles) >> TIDE_TICK_SHIFT;
    t->writer.slot->n_sampled++;
  }
}

TIDE_HOT uint64_t tide_tick(uint64_t cycles)
{
  return cycles >> TIDE_TICK_SHIFT & TIDE_LIVE_BIRTH_MASK;
}

// A block that is there. Returns the cell it was counted at; NULL: it was not.
TIDE_HOT struct tide_cell *tide_record_in(struct tide_thread *t, uint64_t addr, uint64_t size,
                                          struct tide_regs r, uint64_t birth, uint64_t now)
{
  struct tide_cell *c = tide_capture(&t->unwind, r);
  if (TIDE_UNLIKELY(!c)) {
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
    return NULL;
  }
  if (TIDE_UNLIKELY(!tide_book_alloc(&t->writer, c, addr, size, birth, now))) {
    tide_boot_off(TIDE_OFF_NO_MEMORY);
    return NULL;
  }
  return c;
}

TIDE_HOT void tide_record_alloc(void *p, size_t size, struct tide_regs r)
{
  struct tide_thread *t = tide_enter();
  if (TIDE_UNLIKELY(!t))
    return;
  uint64_t cycles = tide_cycles(), now = tide_tick(cycles);
  tide_record_in(t, (uint64_t)p, size, r, now, now);
  tide_sample(t, cycles);
  tide_leave(t);
}

void tide_record_failed(void); // an allocation returned NULL

// Takes a block out of the live map and counts its end. False: it was not known.
TIDE_HOT bool tide_record_free(void *p)
{
  struct tide_thread *t = tide_enter();
  if (TIDE_UNLIKELY(!t))
    return false;
  struct tide_live *slot = tide_live_find((uint64_t)p, false);
  bool known = slot && slot->cell && tide_live_aligned((uint64_t)p);
  if (TIDE_LIKELY(known)) {
    struct tide_live block = *slot;
    slot->cell = 0;
    uint64_t cycles = tide_cycles();
    tide_book_free(&t->writer, block, (uint64_t)p, tide_tick(cycles));
    tide_sample(t, cycles);
  } else if (!tide_real_pool_holds(p)) {
    tide_add_relaxed(&tide_store.header->n_unknown_free, 1);
  }
  tide_leave(t);
  return known;
}

// A resize, in two halves around the real call: the old block leaves the map before the call,
// because afterwards its address may be another thread's; it is counted only when the call has
// succeeded, and put back when it has not.
struct tide_resize {
  struct tide_live *slot; // NULL: the old block is not known
  struct tide_live block;
};

struct tide_resize tide_resize_begin(void *old);
void tide_resize_failed(struct tide_resize resize);
void tide_resize_freed(struct tide_resize resize, void *old); // to size 0: it is gone
void tide_resize_done(struct tide_resize resize, void *old, void *p, size_t size,
                      struct tide_regs r);

#define TIDE_EXPORT __attribute__((visibility("default")))

// Calls the real function; where it is another allocator's, with the gate held.
#define TIDE_CALL_REAL(call)                                                                       \
  ({                                                                                               \
    struct tide_thread *held_ = TIDE_UNLIKELY(tide_real.chained) ? tide_hold() : NULL;             \
    __typeof__(call) ret_ = (call);                                                                \
    if (TIDE_UNLIKELY(held_))                                                                      \
      tide_unhold(held_);                                                                          \
    ret_;                                                                                          \
  })
#define TIDE_CALL_REAL_VOID(call)                                                                  \
  do {                                                                                             \
    struct tide_thread *held_ = TIDE_UNLIKELY(tide_real.chained) ? tide_hold() : NULL;             \
    call;                                                                                          \
    if (TIDE_UNLIKELY(held_))                                                                      \
      tide_unhold(held_);                                                                          \
  } while (0)
