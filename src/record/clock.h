// SPDX-License-Identifier: Apache-2.0
//
// A thread's clock. Reading the cycle counter costs more than all other bookkeeping of an event (17
// ns twice per malloc and free on the x86 machine this was measured on, of 60), so a thread reads
// it only at every 32nd allocation, and at once when the supervisor's beat says that time has
// passed. The beat comes every millisecond; while nobody looks at it, every 8 ms, and a thread that
// comes back from such a pause reads the counter at each of its next events. Births, deaths and the
// peak's moment are thus exact to a millisecond, and to about a microsecond in a thread that is
// busy allocating; counts and bytes do not depend on the clock. Without a supervisor there is no
// beat, and the counter is read at every event.
#pragma once
#include "rt/arch.h"
#include "store/store.h"

struct tide_thread_clock {
  uint64_t now;           // ticks, as of the last reading
  struct tide_pulse seen; // its beat is a wrong one where every event has to look up
  uint32_t beat;
  int32_t left;     // allocations until the next reading
  uint32_t careful; // readings to come at every event
  uint32_t readings;
  uint32_t n_sampled;
  // A thread's first events are measured one by one, and later, now and then, a burst.
  uint32_t n_early;        // of the first
  uint32_t burst;          // events left of it
  uint64_t sample_from;    // cycles; 0: none under way
  uint64_t cold_from;      // tide_cold_cycles then
  uint64_t sampled_cycles; // so far
};

// A new thread's: before the first beat there is nothing to tell that time has passed.
void tide_clock_start(struct tide_thread_clock *clock);
// With a beat the counter may rest for a while. Also measures what reading it costs.
void tide_clock_init(bool beat);
// Gives whether it shows another time than before.
bool tide_thread_clock_read(struct tide_thread_clock *clock);
// From here on it is to be measured what an event costs, up to tide_clock_sample_end().
void tide_clock_sample_begin(struct tide_thread_clock *clock, uint64_t cycles);
// The end of an event: the report's estimate of our own cost is made of such measurements.
void tide_clock_sample_end(struct tide_thread_clock *clock, struct tide_thread_slot *slot);

// Is there something to look up for?
TIDE_HOT bool tide_clock_calls(const struct tide_thread_clock *clock)
{
  return TIDE_UNLIKELY(clock->seen.both != tide_load_relaxed(&tide_store.header->pulse.both));
}

// The same for an allocation: it may also be time to read the clock.
TIDE_HOT bool tide_clock_due(struct tide_thread_clock *clock)
{
  return TIDE_UNLIKELY(--clock->left < 0) || tide_clock_calls(clock);
}
