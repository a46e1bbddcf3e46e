// SPDX-License-Identifier: Apache-2.0
//
// Ticks to nanoseconds. The recorder stamps with the cycle counter because it is the cheapest clock
// there is; what a tick is worth is found by reading the same counter beside CLOCK_MONOTONIC twice,
// the further apart the better: 100 ns of doubt per reading, so 1e-4 after a millisecond and
// nothing to speak of after a second.
#pragma once
#include <stdint.h>

struct tide_clock_reading { // one moment on both clocks
  uint64_t ticks, monotonic_ns;
};

// time_ns = (ticks - zero_ticks) * ns_per_tick + zero_ns
struct tide_clock {
  uint64_t zero_ticks;
  int64_t zero_ns;
  double ns_per_tick;
};

struct tide_clock_reading tide_clock_read(void);
uint64_t tide_monotonic_ns(void);
// Processor time of the calling thread.
uint64_t tide_own_cpu_ns(void);

// A clock that gives times since origin_ns (on CLOCK_MONOTONIC), from two readings.
struct tide_clock tide_clock_make(struct tide_clock_reading first, struct tide_clock_reading second,
                                  uint64_t origin_ns);

// Times before zero are 0, and so are ticks of 0, which mean "never".
uint64_t tide_clock_time_ns(const struct tide_clock *clock, uint64_t ticks);
// A sum or difference of ticks; negative sums stay negative modulo 2^64.
uint64_t tide_clock_span_ns(const struct tide_clock *clock, uint64_t ticks);
