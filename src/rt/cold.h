// SPDX-License-Identifier: Apache-2.0
//
// What the recorder does once for each new thing — a rule, a stack, a thread — is dear and rare, so
// all of it is timed; the hot path is sampled (record/clock.h). Sums of all threads.
#pragma once
#include "rt/arch.h"

extern uint64_t tide_cold_cycles;

// A time as long as this was not all ours: the thread has lost its core.
enum { TIDE_COLD_MAX_CYCLES = 1 << 18 };

static inline void tide_cold_add(uint64_t from_cycles)
{
  uint64_t spent = tide_cycles() - from_cycles;
  tide_add_relaxed(&tide_cold_cycles, spent < TIDE_COLD_MAX_CYCLES ? spent : TIDE_COLD_MAX_CYCLES);
}
