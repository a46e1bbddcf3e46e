// SPDX-License-Identifier: Apache-2.0
//
// A thread of the target as the recorder knows it, and the gate that every hook passes.
//
// `idle` is the whole gate: 1 when the thread may record. It is 0 while the recorder is at work in
// this thread (a signal handler that allocates meanwhile is turned away and counted) and also,
// because the memory is wiped by the kernel, in a fork child, which then switches to a store of
// its own before it records anything. One load decides.
//
// Who a thread is, the recorder does not find out: whoever brings an event brings the thread's
// seat, too. The preload library keeps seats in its thread-local storage.
#pragma once
#include "record/boot_state.h"
#include "record/clock.h"
#include "record/tally.h"
#include "store/writer.h"
#include "unwind/capture.h"

// BUSY: at work without a state to say so in (starting, ending, or with a borrowed one). A signal
// handler that allocates meanwhile must be turned away, or it would wait for locks we hold.
enum tide_phase { TIDE_PHASE_FRESH, TIDE_PHASE_BUSY, TIDE_PHASE_GONE };

// What a way in keeps for each thread of the program: zero at first, and from then on the
// recorder's.
struct tide_seat {
  struct tide_thread *thread; // NULL before the first event, after the end, and where only some are
                              // recorded
  enum tide_phase phase;
  uint16_t scope;        // in which the thread is (scope.h)
  uint16_t drawn_bits;   // how often was sampled when `until` was drawn; 0: it was not
  uint64_t until;        // bytes that pass before the next sample (sample.h)
  uint64_t live_at_fork; // what the heap held when this thread called fork(), until it has
};

// What is to be done when it leaves an event. Others may ask it to look, at any time: then that
// stays until it does.
enum tide_owed {
  TIDE_OWES_NOTHING,
  TIDE_OWES_LOOK,  // see tide_leave_slow()
  TIDE_OWES_TALLY, // its own regions alone want to know of the event
};

struct tide_thread {
  uint32_t idle;
  uint32_t owes;            // enum tide_owed; atomic
  struct tide_thread *self; // points here; NULL: the memory was wiped, we are a fork child
  uint32_t inside_real;     // a real function of another allocator is running
  bool borrowed;            // by a thread that is past its own end, for one event
  struct tide_thread_clock clock;
  struct tide_thread *next_free;
  struct tide_seat *seat; // of the thread that has it, or the latest that had
  struct tide_writer writer;
  struct tide_unwind unwind;
  struct tide_thread_tally tallied; // while it is, it owes something at every event
};

struct tide_thread *tide_enter_slow(struct tide_seat *seat); // in boot.c: the first event boots
// Entered, and there is something to see: the time, unloaded code, or that recording has ended.
struct tide_thread *tide_look_up(struct tide_thread *t);
void tide_leave_slow(struct tide_thread *t, enum tide_event event, const void *p);

// The same for a new block. NULL also while recording is off.
struct tide_thread *tide_enter_alloc_slow(struct tide_seat *seat);
struct tide_thread *tide_look_up_alloc(struct tide_thread *t);

#define TIDE_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

// NULL: do not record (off, busy, or no memory). What happens now happens at t->clock.now.
TIDE_HOT struct tide_thread *tide_enter(struct tide_seat *seat)
{
  struct tide_thread *t = seat->thread;
  if (TIDE_UNLIKELY(!t || !t->idle))
    return tide_enter_slow(seat);
  t->idle = 0;
  TIDE_COMPILER_BARRIER();
  return TIDE_UNLIKELY(tide_clock_due(&t->clock)) ? tide_look_up(t) : t;
}

// The same for a block that is new to us: none is taken in while recording is off (paused, in
// store/layout.h). That costs nothing while it is on: whoever switches it makes all threads look
// up, and while it is off a thread looks up at every allocation, as `left` of its clock stays 0.
// Ends of blocks, and resizes of known ones, are recorded as ever.
TIDE_HOT struct tide_thread *tide_enter_alloc(struct tide_seat *seat)
{
  struct tide_thread *t = seat->thread;
  if (TIDE_UNLIKELY(!t || !t->idle))
    return tide_enter_alloc_slow(seat);
  t->idle = 0;
  TIDE_COMPILER_BARRIER();
  return TIDE_UNLIKELY(tide_clock_due(&t->clock)) ? tide_look_up_alloc(t) : t;
}

// The same as tide_enter() for a free, in the usual case; NULL: it is not, and nothing was done.
// Calls nobody, so a hook that leaves everything else to another function has to save no registers.
TIDE_HOT struct tide_thread *tide_enter_quickly(struct tide_seat *seat)
{
  struct tide_thread *t = seat->thread;
  if (TIDE_UNLIKELY(!t || !t->idle))
    return NULL;
  t->idle = 0; // first: see total.h, invariant 3
  TIDE_COMPILER_BARRIER();
  if (tide_clock_calls(&t->clock)) {
    t->idle = 1;
    return NULL;
  }
  return t;
}

// False: tide_leave_slow() is to be called.
TIDE_HOT bool tide_leave_quickly(struct tide_thread *t)
{
  if (TIDE_UNLIKELY(tide_load_relaxed(&t->owes)))
    return false;
  TIDE_COMPILER_BARRIER();
  t->idle = 1;
  return true;
}

// After an event of the block p.
TIDE_HOT void tide_leave_after(struct tide_thread *t, enum tide_event event, const void *p)
{
  if (TIDE_UNLIKELY(!tide_leave_quickly(t)))
    tide_leave_slow(t, event, p);
}

// After a new block, which it gives, or the end of one, by a thread that owes something: in the
// usual ways.
void *tide_leave_owing_alloc(struct tide_thread *t, void *p);
void tide_leave_owing_free(struct tide_thread *t, const void *p);

// After something that changes nothing of the heap.
TIDE_HOT void tide_leave(struct tide_thread *t)
{
  tide_leave_after(t, TIDE_EVENT_NONE, NULL);
}

// While another allocator works, what it asks of hooked functions is its own business.
struct tide_held {
  struct tide_thread *thread; // NULL: it was held already, or is nobody's
  uint64_t until;             // of one without a state, to whom no sample comes meanwhile
};

// In sample.c: a thread that was never here gets a state or draws its first sample, so that there
// is something to hold.
void tide_hold_first(struct tide_seat *seat);

TIDE_HOT struct tide_held tide_hold(struct tide_seat *seat)
{
  if (TIDE_UNLIKELY(!(seat->thread && seat->thread->idle) && !seat->drawn_bits))
    tide_hold_first(seat);
  struct tide_thread *t = seat->thread;
  struct tide_held held = {NULL, seat->until};
  if (!t && seat->drawn_bits)
    seat->until = UINT64_MAX;
  if (!t || !t->idle)
    return held;
  t->idle = 0;
  t->inside_real = 1;
  TIDE_COMPILER_BARRIER();
  held.thread = t;
  return held;
}

TIDE_HOT void tide_unhold(struct tide_seat *seat, struct tide_held held)
{
  if (!held.thread) {
    if (seat->until > INT64_MAX) // else it was drawn for the first time meanwhile, or never
      seat->until = held.until;
    return;
  }
  TIDE_COMPILER_BARRIER();
  held.thread->inside_real = 0;
  held.thread->idle = 1;
}

// The first event of the thread in this seat, or one after its end; NULL: no memory, or no slot.
struct tide_thread *tide_thread_begin(struct tide_seat *seat);
// The end of the thread in this seat: what it still does is booked through a borrowed state.
void tide_thread_end(struct tide_seat *seat);
// The same, told by another thread once it is over.
void tide_thread_put_away(struct tide_seat *seat);

// One for all threads, whose events come one at a time (sample.c). The main thread's own stack is
// known to it, and no other.
struct tide_thread *tide_thread_for_all(struct tide_seat *seat);
void tide_thread_know_stack(struct tide_thread *t); // of the calling thread, if it is the main one

// The thread in this seat is in that scope from now on (scope.h).
void tide_thread_enter_scope(struct tide_seat *seat, uint32_t scope);

void tide_threads_init(uint64_t main_stack_top);
void tide_threads_after_fork(struct tide_seat *seat); // of the only thread there is
