// SPDX-License-Identifier: Apache-2.0
//
// Reading the clock, and measuring ourselves with it.
#include "record/clock.h"

#include "rt/cost.h"
#include "store/live.h"

enum {
  ALLOCATIONS_PER_READING = 32,
  READINGS_PER_BURST = 256,
  FIRST_BURST = 64, // readings
  SHORT_BURST = 4,  // two more for programs that do not come that far
  SECOND_BURST = 16,
  EARLY_EVENTS = 256, // of a thread: their page faults and first walks are like no later ones
  BURST_EVENTS = 48,  // measured in a row: the first of them warm the caches and do not count
  WARM_UP_EVENTS = 16,
  TORN_CYCLES = 1 << 14, // several page faults' worth
  PAUSE_MS = 2,          // a beat later than this, and the supervisor may be slow for a while
  CAREFUL_EVENTS = 64,   // few enough to cost nothing, enough for a slow thread to outlast that
};

static bool has_beat;
static uint64_t reading_cycles; // what measuring costs an event that is measured

static bool is_early(const struct tide_thread_clock *clock)
{
  return clock->n_early < EARLY_EVENTS;
}

static bool burst_begins(uint32_t readings)
{
  return readings == SHORT_BURST || readings == SECOND_BURST ||
         readings % READINGS_PER_BURST == FIRST_BURST;
}

void tide_clock_sample_begin(struct tide_thread_clock *clock, uint64_t cycles)
{
  clock->sample_from = cycles;
  clock->cold_from = tide_load_relaxed(&tide_cold_cycles);
}

// The first bursts are closer to one another than later ones: each makes the one before forgotten,
// so that all parts of a program count alike.
static void begin_burst(struct tide_thread_clock *clock)
{
  clock->burst = BURST_EVENTS;
  if (clock->readings <= FIRST_BURST)
    clock->sampled_cycles = clock->n_sampled = 0;
}

void tide_clock_start(struct tide_thread_clock *clock)
{
  if (!tide_load_relaxed(&tide_store.header->pulse.beat))
    clock->careful = CAREFUL_EVENTS;
}

bool tide_thread_clock_read(struct tide_thread_clock *clock)
{
  uint64_t cycles = tide_cycles(), before = clock->now;
  uint32_t beat = tide_load_relaxed(&tide_store.header->pulse.beat);
  // Time stands still during a burst: what is measured is to be like any other event.
  if (!clock->burst || beat != clock->beat)
    clock->now = tide_live_time(cycles >> TIDE_TICK_SHIFT);
  if (beat != clock->beat) {
    if (beat - clock->beat > PAUSE_MS)
      clock->careful = CAREFUL_EVENTS;
    clock->beat = beat;
    tide_store_relaxed(&tide_store.header->beat_seen, beat);
  }
  // Readings out of care come in cold moments: they would be measured far too often.
  bool measured = clock->burst || is_early(clock);
  if (!clock->careful && !measured && burst_begins(++clock->readings)) {
    begin_burst(clock);
    measured = true;
  }
  clock->left = ALLOCATIONS_PER_READING - 1;
  clock->seen.beat = clock->careful || measured || !has_beat ? ~beat : beat;
  clock->careful -= clock->careful > 0;
  clock->burst -= clock->burst > 0;
  if (measured)
    tide_clock_sample_begin(clock, cycles);
  return clock->now != before;
}

void tide_clock_init(bool beat)
{
  has_beat = beat || TIDE_BEAT_ASSUMED;
  reading_cycles = ~0ull;
  for (int i = 0; i < 16; i++) {
    struct tide_thread_clock clock = {.n_early = EARLY_EVENTS, .burst = 1};
    tide_thread_clock_read(&clock);
    uint64_t cost = tide_cycles() - clock.sample_from;
    reading_cycles = cost < reading_cycles ? cost : reading_cycles;
  }
  reading_cycles += reading_cycles / 3; // it also keeps the processor from working ahead
}

// A measurement during which the thread lost its core says nothing about us.
void tide_clock_sample_end(struct tide_thread_clock *clock, struct tide_thread_slot *slot)
{
  uint64_t spent = tide_cycles() - clock->sample_from;
  uint64_t cold = tide_load_relaxed(&tide_cold_cycles) - clock->cold_from; // counted there
  spent = spent > cold ? spent - cold : 0;
  clock->sample_from = 0;
  if (is_early(clock)) {
    tide_cold_count(spent);
    tide_store_relaxed(&tide_store.header->cold_ticks, tide_cold_cycles >> TIDE_TICK_SHIFT);
    slot->n_early = ++clock->n_early;
    return;
  }
  if (spent > TORN_CYCLES || clock->burst >= BURST_EVENTS - WARM_UP_EVENTS)
    return;
  clock->sampled_cycles += spent > reading_cycles ? spent - reading_cycles : 0;
  slot->sampled_ticks = clock->sampled_cycles >> TIDE_TICK_SHIFT;
  slot->n_sampled = ++clock->n_sampled;
}
