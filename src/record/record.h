// SPDX-License-Identifier: Apache-2.0
//
// One event, from a hook to the store.
#pragma once
#include "record/boot.h"
#include "record/thread.h"
#include "store/run.h"

void tide_record_no_room(void); // a block found none in the live map

// A new block, by a thread that has entered.
TIDE_HOT void tide_record_block(struct tide_thread *t, void *p, size_t size, struct tide_regs r)
{
  struct tide_cell *c = tide_capture(&t->unwind, r);
  if (TIDE_UNLIKELY(!c))
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
  else if (TIDE_UNLIKELY(!tide_run_alloc(&t->writer, c, (uint64_t)p, size, t->clock.now)))
    tide_record_no_room();
  tide_leave(t);
}

void tide_record_failed(void); // an allocation returned NULL

void tide_record_unknown(const void *p); // the end of a block that is not known

// The end of a block that does not wait to be booked, by a thread that has entered. False: it was
// not known.
TIDE_HOT bool tide_record_end(struct tide_thread *t, void *p)
{
  bool known = tide_run_free_booked(&t->writer, (uint64_t)p, t->clock.now);
  if (TIDE_UNLIKELY(!known))
    tide_record_unknown(p);
  tide_leave(t);
  return known;
}

// The end of a block. False: it was not known.
TIDE_HOT bool tide_record_free(struct tide_seat *seat, void *p)
{
  struct tide_thread *t = tide_enter(seat);
  if (TIDE_UNLIKELY(!t))
    return false;
  if (!tide_run_free_waiting(&t->writer, (uint64_t)p))
    return tide_record_end(t, p);
  tide_leave(t);
  return true;
}

// A resize, in two halves around the real call: the old block leaves the map before the call,
// because afterwards its address may be another thread's; it is counted only when the call has
// succeeded, and put back when it has not.
struct tide_resize {
  struct tide_block block; // of no cell: the old block is not known
};

struct tide_resize tide_resize_begin(struct tide_seat *seat, void *old);
void tide_resize_failed(struct tide_seat *seat, struct tide_resize resize, void *old);
// To size 0: it is gone.
void tide_resize_freed(struct tide_seat *seat, struct tide_resize resize, void *old);
void tide_resize_done(struct tide_seat *seat, struct tide_resize resize, void *old, void *p,
                      size_t size, struct tide_regs r);
