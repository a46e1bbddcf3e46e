// SPDX-License-Identifier: Apache-2.0
//
// When to take the next snapshot of an image: evenly in time and in bytes, so that no two are more
// than a fiftieth of the run apart, as long as that costs next to nothing.
//
//  1. Two are an interval apart, or less where the heap has changed much between them: its part of
//     the way is TIDE_SNAPSHOT_BYTES_PART at most. Only so many are kept, and whoever thins them
//     out doubles the interval: of what is left none is further from the next than that.
//  2. They are paid for: by a two-hundredth of the time, and more of it in the first moments of a
//     run, most of which are short. What was not spent stays, so that a dear one among many cheap
//     ones makes no hole. One that ends a wide hole is taken on credit, the dearer the wider it is:
//     a compiler's run of 20 s with 170,000 stacks has holes of a tenth of it at most, and a
//     program that makes a million stacks in seconds has some.
//  3. Where they are dear they come no more often than a fiftieth of the run needs, and no more
//     often than what is paid until the run is twice as long lasts for: else the credit of the
//     first moments were gone in the middle of a short run, and nothing known of its end.
// By 2 a program of very many stacks has wider gaps: whoever shows the run says how wide
// (model/image_sums.h).
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define TIDE_SNAPSHOT_BYTES_PART 0.4

struct tide_snapshot_pace {
  uint64_t interval_ns;
  uint64_t begun_ns;
  uint64_t paid_ns;   // up to when time was turned into credit
  double credit_ns;   // processor time that snapshots may take; below zero: they took more
  uint64_t cost_ns;   // of the last one
  uint64_t before_ns; // of the one before that
  uint64_t n_cells;   // that it looked at
  uint64_t last_ns;   // when it was, or the beginning
  int64_t last_bytes; // live then
  int64_t most_bytes; // live at any look
  bool is_wanted;     // one is due now, whatever it costs
  bool is_over;       // there can be no more of them
};

void tide_snapshot_pace_init(struct tide_snapshot_pace *pace, uint64_t time_ns);

// Is one due? The image has so many live bytes and cells now, and is one of n_sharing.
bool tide_snapshot_pace_is_due(struct tide_snapshot_pace *pace, uint64_t time_ns,
                               int64_t live_bytes, uint64_t n_cells, uint64_t n_sharing);

// One was taken of so many live bytes and cells, for so much processor time.
void tide_snapshot_pace_note(struct tide_snapshot_pace *pace, uint64_t time_ns, int64_t live_bytes,
                             uint64_t n_cells, uint64_t cost_ns);
// And what was done on its occasion took as much.
void tide_snapshot_pace_note_more(struct tide_snapshot_pace *pace, uint64_t cost_ns);

// How far it is from one moment to another: 1 is as far as two snapshots should be apart.
double tide_snapshot_pace_way(const struct tide_snapshot_pace *pace, uint64_t span_ns,
                              int64_t from_bytes, int64_t to_bytes);
