// SPDX-License-Identifier: Apache-2.0
//
// Which events the recorder measures to say what it costs: all of a thread's first, then bursts, in
// short programs too. How many, not how long they take.
#include "record/clock.h"

#include "expect.h"
#include "test_store.h"

#include <string.h>

enum { EARLY = 256, PER_BURST = 32, PER_READING = 32 };

static struct tide_thread_clock recorder_clock;
static struct tide_thread_slot *slot;
static void open_store(void)
{
  test_store_open();
  slot = tide_slot_at(tide_slot_new());
}

static void allocate(int n)
{
  for (int i = 0; i < n; i++) {
    if (tide_clock_due(&recorder_clock))
      tide_thread_clock_read(&recorder_clock);
    if (recorder_clock.sample_from)
      tide_clock_sample_end(&recorder_clock, slot);
  }
}

// A machine that stops us for a moment costs a sample.
static bool about(uint64_t n, uint64_t wanted)
{
  return n <= wanted && n + 8 >= wanted;
}

static void first_events_are_all_measured(void)
{
  allocate(EARLY - 1);
  EXPECT(slot->n_early == EARLY - 1 && !slot->n_sampled);
  allocate(1);
  EXPECT(slot->n_early == EARLY);
  EXPECT(tide_store.header->cold_ticks > 0);
  uint64_t cold = tide_store.header->cold_ticks;
  allocate(PER_READING);
  EXPECT(slot->n_early == EARLY && tide_store.header->cold_ticks == cold);
}

// The third burst is the first of those that go on for ever: each so far has replaced its
// forerunner.
static void then_some(void)
{
  allocate(PER_READING * 6);
  EXPECT(about(slot->n_sampled, PER_BURST));
  allocate(PER_READING * 20);
  EXPECT(about(slot->n_sampled, PER_BURST));
  allocate(PER_READING * 256);
  EXPECT(about(slot->n_sampled, PER_BURST));
  allocate(PER_READING * 256);
  EXPECT(about(slot->n_sampled, 2 * PER_BURST));
}

// Another program's: one that allocates without a supervisor looks up at every event, and is not
// measured more often.
static void without_a_beat(void)
{
  tide_clock_init(false);
  memset(&recorder_clock, 0, sizeof recorder_clock);
  slot->n_sampled = slot->n_early = 0;
  allocate(EARLY);
  EXPECT(slot->n_early == EARLY && !slot->n_sampled);
  allocate(256 + 64);
  EXPECT(about(slot->n_sampled, PER_BURST));
}

int main(void)
{
  open_store();
  tide_clock_init(true);
  first_events_are_all_measured();
  then_some();
  without_a_beat();
  return n_bad != 0;
}
