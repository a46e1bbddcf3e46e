// SPDX-License-Identifier: Apache-2.0
//
// One event, from a hook to the store.
#pragma once
#include "record/boot.h"
#include "record/real.h"
#include "record/thread.h"
#include "store/book.h"

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
  uint64_t now = tide_clock_now(&t->clock);
  tide_record_in(t, (uint64_t)p, size, r, now, now);
  tide_clock_event_done(&t->clock, t->writer.slot);
  tide_leave(t);
}

void tide_record_failed(void); // an allocation returned NULL

// The general case of the below: any block, from anywhere.
bool tide_record_free_any(struct tide_thread *t, void *p, uint64_t now);

// Takes a block out of the live map and counts its end. False: it was not known.
TIDE_HOT bool tide_record_free(void *p)
{
  struct tide_thread *t = tide_enter();
  if (TIDE_UNLIKELY(!t))
    return false;
  uint64_t now = tide_clock_now(&t->clock);
  bool known = true;
  if (tide_book_is_last(&t->writer, (uint64_t)p))
    tide_book_free_last(&t->writer, now);
  else
    known = tide_record_free_any(t, p, now);
  tide_clock_event_done(&t->clock, t->writer.slot);
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
