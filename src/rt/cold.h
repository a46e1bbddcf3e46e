// SPDX-License-Identifier: Apache-2.0
//
// What the recorder does once for each new thing — a rule, a stack, a thread and its first events —
// is dear and rare, so all of it is timed; the hot path is sampled (record/clock.h). Sums of all
// threads.
#pragma once
#include "rt/arch.h"

extern uint64_t tide_cold_cycles;

// A time as long as this was not all ours: the thread has lost its core.
enum { TIDE_COLD_MAX_CYCLES = 1 << 18 };

static inline void tide_cold_count(uint64_t cycles)
{
  tide_add_relaxed(&tide_cold_cycles,
                   cycles < TIDE_COLD_MAX_CYCLES ? cycles : TIDE_COLD_MAX_CYCLES);
}

static inline void tide_cold_add(uint64_t from_cycles)
{
  tide_cold_count(tide_cycles() - from_cycles);
}
