// SPDX-License-Identifier: Apache-2.0
//
// Events of which only some are recorded: samples (store/samples.h). No thread has a state then:
// its seat has none, and counts down to its next sample instead.
//
//     malloc(n)   seat->thread is NULL: n < until, which becomes less by n + 1, and that is all
//     free(p)     seat->thread is NULL: the filter says that p is no sample, and that is all
//     realloc     both
//
// `until` is 0 before a thread's first draw, and where all events are recorded: nothing passes, so
// malloc() need not ask whether there is a state.
#pragma once
#include "record/thread.h"
#include "store/samples.h"

// A block of so many bytes was allocated, by a thread without a state. False: it is a sample, or
// the thread has not drawn yet, or it is for other reasons that it has no state; then nothing was
// counted, and it may be asked again.
TIDE_HOT bool tide_sample_passes(struct tide_seat *seat, size_t size)
{
  uint64_t until = seat->until;
  if (TIDE_UNLIKELY(until <= size))
    return false;
  seat->until = until - size - 1;
  return true;
}

// What comes then. Gives the block.
void *tide_sample_block(struct tide_seat *seat, void *p, size_t size, struct tide_regs r);

// Is it known that p, which is freed by a thread without a state, is no sample? Never where all
// events are recorded.
TIDE_HOT bool tide_sample_is_none(const void *p)
{
  return TIDE_LIKELY(!tide_samples_may_hold((uint64_t)p));
}

// The same of a block of which that is not known, without the lock; false also where all events are
// recorded.
TIDE_HOT bool tide_sample_is_none_surely(const void *p)
{
  return tide_samples.bits && !tide_samples_hold((uint64_t)p);
}

// What comes if not: the end of a sample, if it is one. False: it is none.
bool tide_sample_free(struct tide_seat *seat, const void *p);

// Ends all whose addresses are from `from` to `to`, both included; how many were.
uint64_t tide_sample_free_all(struct tide_seat *seat, uint64_t from, uint64_t to);

// The same in two halves, around a call that may fail (record.h). Gives one of no address if it is
// none.
void tide_sample_take(struct tide_seat *seat, const void *p, struct tide_sample *ret);
void tide_sample_put_back(struct tide_seat *seat, const struct tide_sample *sample);
void tide_sample_end(struct tide_seat *seat, const struct tide_sample *sample);
// A sample was resized, and is at p now. While recording is on it has ended, and false is given:
// the block has to be drawn anew. While it is off nothing is drawn, and it goes on as what it stood
// for.
bool tide_sample_move(struct tide_seat *seat, const struct tide_sample *sample, const void *p,
                      uint64_t size);

// What is going on under the lock: whose it is, since when, and what of that was counted already.
struct tide_turn {
  struct tide_seat *seat; // NULL: it is not under the lock
  enum tide_phase phase;
  struct tide_thread *thread;
  uint64_t now, from, cold_from;
};

// For events that are recorded in any case (pages.c), as tide_enter() and tide_leave().
struct tide_thread *tide_enter_either(struct tide_seat *seat, struct tide_turn *ret_turn);
void tide_leave_either(const struct tide_turn *turn);

// A store begins: somebody may have told it how often.
void tide_sample_begin(void);
void tide_sample_after_fork(bool wiped);
