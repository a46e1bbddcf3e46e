// SPDX-License-Identifier: Apache-2.0
//
// Two clocks, read as close together as we can: of a few tries the one with the shortest gap
// counts, so an interrupt in the middle does no harm.
#define _GNU_SOURCE
#include "observe/clock.h"

#include "rt/arch.h"

#include <time.h>

#define TRIES 5

static uint64_t ticks_now(void)
{
  return tide_cycles() >> TIDE_TICK_SHIFT;
}

uint64_t tide_monotonic_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t tide_own_cpu_ns(void)
{
  struct timespec spent;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

struct tide_clock_reading tide_clock_read(void)
{
  struct tide_clock_reading best = {0};
  uint64_t best_gap = UINT64_MAX;
  for (int i = 0; i < TRIES; i++) {
    uint64_t before = ticks_now();
    uint64_t ns = tide_monotonic_ns();
    uint64_t gap = ticks_now() - before;
    if (gap < best_gap) {
      best = (struct tide_clock_reading){before + gap / 2, ns};
      best_gap = gap;
    }
  }
  return best;
}

struct tide_clock tide_clock_make(struct tide_clock_reading first, struct tide_clock_reading second,
                                  uint64_t origin_ns)
{
  double ticks = (double)(second.ticks - first.ticks);
  double ns = (double)(second.monotonic_ns - first.monotonic_ns);
  return (struct tide_clock){
      .zero_ticks = second.ticks,
      .zero_ns = (int64_t)(second.monotonic_ns - origin_ns),
      .ns_per_tick = second.ticks > first.ticks && ns > 0 ? ns / ticks : 1.0,
  };
}

static int64_t ticks_to_ns(const struct tide_clock *clock, int64_t ticks)
{
  double ns = (double)ticks * clock->ns_per_tick;
  if (ns >= 0x1p62)
    return INT64_C(1) << 62;
  if (ns <= -0x1p62)
    return -(INT64_C(1) << 62);
  return (int64_t)ns;
}

uint64_t tide_clock_time_ns(const struct tide_clock *clock, uint64_t ticks)
{
  if (!ticks)
    return 0;
  int64_t ns = ticks_to_ns(clock, (int64_t)(ticks - clock->zero_ticks));
  ns = __builtin_add_overflow(ns, clock->zero_ns, &ns) ? 0 : ns;
  return ns > 0 ? (uint64_t)ns : 0;
}

uint64_t tide_clock_span_ns(const struct tide_clock *clock, uint64_t ticks)
{
  return (uint64_t)ticks_to_ns(clock, (int64_t)ticks);
}
