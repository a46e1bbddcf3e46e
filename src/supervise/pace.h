// SPDX-License-Identifier: Apache-2.0
//
// When to make the next draft of a run: for a checkpoint, or for somebody who looks. A draft reads
// every stack of every process, so what it costs grows with them; the run must not pay more than a
// small share for them, however many there are and whoever wants them. A draft is therefore due
// only when the time since the last one (or since the start) is TIDE_PACE_REST times what it is
// expected to cost: 2 % of a core at most. What the end of the supervisor by SIGKILL can lose is
// bounded by the same: the longest interval, or that many times the cost where it is longer.
#pragma once
#include <stdint.h>

#define TIDE_PACE_REST 50u

struct tide_pace {
  uint64_t since_ns;      // the end of the last draft, or the start
  uint64_t cost_ns;       // of the last one; 0: there was none
  uint64_t n_cells;       // it was of so many
  uint64_t look_ns;       // drafts to look at come so far apart, at least
  uint64_t checkpoint_ns; // the last checkpoint, or the start
  uint64_t interval_ns;   // from then to the next, at least
};

void tide_pace_init(struct tide_pace *pace, uint64_t now_ns);

// When the next draft is due if there are so many cells now: to be looked at, for a checkpoint.
uint64_t tide_pace_look_ns(const struct tide_pace *pace, uint64_t n_cells);
uint64_t tide_pace_checkpoint_ns(const struct tide_pace *pace, uint64_t n_cells);

// One was made; and a checkpoint was written or could not be, which is tried less and less often.
void tide_pace_note(struct tide_pace *pace, uint64_t before_ns, uint64_t after_ns,
                    uint64_t n_cells);
void tide_pace_note_checkpoint(struct tide_pace *pace, uint64_t now_ns);
