// SPDX-License-Identifier: Apache-2.0
//
// What the graph is drawn from: live bytes and RSS at the latest looks. It has a fixed number of
// places, so that it takes as much after a week as after a minute; the oldest go.
#pragma once
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIDE_TOP_SAMPLES = 2048 };

struct tide_top_sample {
  uint64_t time_ns; // of the capture
  int64_t live_bytes;
  uint64_t rss_bytes; // 0: not known
  uint64_t n_alloc;
  uint32_t mark; // the number of a mark that was set here; 0: none
};

struct tide_top_history {
  struct tide_top_sample items[TIDE_TOP_SAMPLES]; // a ring
  size_t n, next;
};

// Samples come by rising time; one of the time of the last, or before it, takes its place. Its mark
// stays. An RSS that is not known is the one before.
void tide_top_history_add(struct tide_top_history *history, const struct tide_top_sample *given);
// The timeline of an image, as far as there is room: for the first look at a process.
void tide_top_history_fill(struct tide_top_history *history, const struct tide_image *image);
// The i-th, from the oldest on.
const struct tide_top_sample *tide_top_history_at(const struct tide_top_history *history, size_t i);
// The latest; NULL: none.
const struct tide_top_sample *tide_top_history_last(const struct tide_top_history *history);
// Sets a mark at the latest. False: there is none yet.
bool tide_top_history_mark(struct tide_top_history *history, uint32_t number);

// What one column of the graph shows: the most of the time (from_ns, to_ns]; where nobody looked in
// it, what was there before. is_known: false before the first look.
struct tide_top_column {
  bool is_known;
  int64_t live_bytes;
  uint64_t rss_bytes;
  uint32_t mark;
};

// n columns of step_ns each, the last of which ends at end_ns.
void tide_top_history_columns(const struct tide_top_history *history, uint64_t end_ns,
                              uint64_t step_ns, size_t n, struct tide_top_column *ret_columns);
