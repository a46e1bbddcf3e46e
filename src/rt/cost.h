// SPDX-License-Identifier: Apache-2.0
//
// What the recorder costs: its rare work is timed, and what only makes it faster can be left out to
// see what that gains.
#pragma once
#include "rt/arch.h"

// ---- rare work ----
//
// What the recorder does once for each new thing — a rule, a stack, a thread and its first events —
// is dear and rare, so all of it is timed; the hot path is sampled (record/clock.h). Sums of all
// threads.

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

// ---- adaptive devices ----
//
// Code that only makes the recorder faster, by what programs usually do. All are part of the
// product. `make bench ARGS="--only devices"` builds a recorder without each of them
// (-DTIDE_DEVICES_OFF=...) and shows what it gains; one that gains nothing on real programs goes.

#ifndef TIDE_DEVICES_OFF
#define TIDE_DEVICES_OFF 0
#endif

enum tide_device {
  TIDE_DEVICE_PAIRS = 1 << 0,     // pairs of one stack are counted together: store/pairs.h
  TIDE_DEVICE_FORESIGHT = 1 << 1, // the stack that came next the last time: unwind/memo.h
  TIDE_DEVICE_GROWTH = 1 << 2,    // a memo too small for those that do grows: unwind/capture.c
};

#define TIDE_HAS(device) (!(TIDE_DEVICES_OFF & TIDE_DEVICE_##device))

// Set for counting instructions where no supervisor can be: as if there were one, the clock is not
// read at every event.
#ifndef TIDE_BEAT_ASSUMED
#define TIDE_BEAT_ASSUMED 0
#endif
