// SPDX-License-Identifier: Apache-2.0
//
// When to write the next checkpoint. A checkpoint reads every stack of every process, so what it
// costs grows with them; the run must not pay more than a small share for them, however many there
// are. A checkpoint is therefore due only when the time since the last one (or since the start) is
// TIDE_PACE_REST times what it is expected to cost: 2 % of a core at most. What the end of the
// supervisor by SIGKILL can lose is bounded by the same: the longest interval, or that many times
// the cost where it is longer.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define TIDE_PACE_REST 50u
#define TIDE_PACE_OFTEN_REST 20u // while somebody looks: 5 %

struct tide_pace {
  bool often;           // somebody looks at each one
  uint64_t since_ns;    // the end of the last one, or the start
  uint64_t interval_ns; // from then to the next, at least
  uint64_t cost_ns;     // of the last one; 0: there was none
  uint64_t n_cells;     // it was of so many
};

void tide_pace_init(struct tide_pace *pace, uint64_t now_ns, bool often);

// When the next one is due, if there are so many cells now.
uint64_t tide_pace_due_ns(const struct tide_pace *pace, uint64_t n_cells);

// One was written.
void tide_pace_note(struct tide_pace *pace, uint64_t before_ns, uint64_t after_ns,
                    uint64_t n_cells);
