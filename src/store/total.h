// SPDX-License-Identifier: Apache-2.0
//
// The live total of all threads, and its peak.
//
// A slot's `held` is what its threads allocated less what they freed; its owner alone writes it,
// and the sum over all slots is the total. header.live_bytes is the sum of `published`, what was
// made known of each. A thread is in one of two modes, and changes its own mode, when it looks up:
//
//   alone     Nobody else books anything. The total is base + held, so every falling edge of a new
//             maximum is found by comparing held with `crest`; nothing is published.
//   in a crowd  It publishes when held leaves [low, high], at most a share away from what it
//             published last. The total is then known to within n_threads * share, the slack.
//
//   crest, high and low are at the ends of the range where they do not apply.
//
// Invariants
//  1. header.live_bytes = sum of published: whoever changes the one changes the other by as much.
//  So
//     anybody may publish for anybody.
//  2. A slot whose thread has ended has published all.
//  3. While one is alone, every other thread looks up at its next event, before it books it, and
//     ends the solitude: the pulse was raised, a barrier on all cores followed, and then all of
//     them were seen outside of any event.
//  4. No thread in a crowd holds back more than `loosest`, but for an event that it is in. Shares
//     fall only when one thread publishes for all and calls them: who is in an event then looks up
//     at its end.
//  5. header.ceiling is at least what the total ever was while there was a crowd, events under way
//     not counted. What it was while one was alone is in max_bytes, or it is that now.
//  All of it is since the peak was last restarted, which somebody outside may ask for
//  (observe/switches.h): max_bytes is then -1, so that the peak is now until the total falls.
//
// A crowd of few publishes every event at first (the share is 0, and the peak exact): threads that
// live shortly or take turns never come to more. One that goes on publishing undisturbed asks to be
// alone. Where they keep disturbing each other the share grows with the number of disturbances, so
// that these become rare.
#pragma once
#include "rt/arch.h"
#include "store/writer.h"

// Once, before there are threads: what is used to ask whether all others are outside of any event.
void tide_total_init(void);
void tide_total_attach(void); // nobody has a part yet in the store just attached

// A thread begins to book, or ends. At its end it has settled what waited.
void tide_total_join(struct tide_writer *w, uint32_t tid, uint64_t now);
void tide_total_leave(struct tide_writer *w);

// Publishes what the thread held back; finds the peak of a crowd.
void tide_total_publish(struct tide_writer *w);

// Somebody wants the peak restarted, and nobody has done it yet.
TIDE_HOT bool tide_total_is_asked(void)
{
  return TIDE_UNLIKELY(tide_load_relaxed(&tide_store.header->switches.peaks_asked) !=
                       tide_load_relaxed(&tide_crowd.peaks_restarted));
}

// The thread looks up. True: tide_total_turn() is to be called, with nothing waiting (pairs.h).
TIDE_HOT bool tide_total_calls(const struct tide_writer *w)
{
  return w->turn != tide_load_acquire(&tide_crowd.turn) || w->streak >= TIDE_LONG_STREAK ||
         tide_total_is_asked();
}
void tide_total_turn(struct tide_writer *w);

// At its latest event. It may be that another has come since.
TIDE_HOT bool tide_total_was_alone(const struct tide_writer *w)
{
  return w->high == INT64_MAX;
}

// A lone thread's total falls from a new maximum. False: it is not alone any more. What it knows of
// that is of its latest look, and in the event it may have been interrupted for long. Others may
// have come even between the two questions here; then what was written is taken back.
TIDE_HOT bool tide_total_crest(struct tide_writer *w, int64_t held, uint64_t now)
{
  struct tide_store_header *h = tide_store.header;
  if (TIDE_UNLIKELY(tide_load_acquire(&tide_crowd.lone) != w))
    return false;
  tide_store_relaxed(&h->max_bytes, w->base + held);
  tide_store_relaxed(&h->max_ticks, now);
  tide_store_relaxed(&h->stamp.epoch, tide_load_relaxed(&h->stamp.epoch) + 1);
  if (TIDE_UNLIKELY(tide_load_acquire(&tide_crowd.lone) != w))
    return false;
  w->crest = held;
  return true;
}
// After it said false, before the total falls: the thread is one of the crowd from here on.
void tide_total_overtaken(struct tide_writer *w);

TIDE_HOT void tide_total_add(struct tide_writer *w, uint64_t size)
{
  int64_t held = w->slot->held + (int64_t)size; // others may read it
  tide_store_relaxed(&w->slot->held, held);
  if (TIDE_UNLIKELY(held > w->high))
    tide_total_publish(w);
}

TIDE_HOT void tide_total_sub(struct tide_writer *w, uint64_t size, uint64_t now)
{
  int64_t held = w->slot->held;
  if (TIDE_UNLIKELY(held > w->crest) && TIDE_UNLIKELY(!tide_total_crest(w, held, now)))
    tide_total_overtaken(w);
  held -= (int64_t)size;
  tide_store_relaxed(&w->slot->held, held);
  if (TIDE_UNLIKELY(held < w->low))
    tide_total_publish(w);
}
