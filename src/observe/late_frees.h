// SPDX-License-Identifier: Apache-2.0
//
// Late frees on their way from a store to a capture: taken from the chunks that the target's
// threads have closed, gathered by stack, interval of birth and interval of the end, and joined
// where the snapshots between two intervals have been thinned out. A block that is then born and
// freed in the same one was no late free.
#pragma once
#include "observe/intervals.h"
#include "model/model.h"

struct tide_late_frees {
  struct tide_late_free *rows; // born and freed are intervals here, not snapshots
  size_t n, cap, n_settled;
};

void tide_late_frees_done(struct tide_late_frees *lates);

// Takes the rows of all closed chunks and makes these free; of a target that has ended, those of
// all chunks.
void tide_late_frees_drain(struct tide_late_frees *lates, struct tide_store_view *view, bool ended);

// Which of the snapshots an interval was closed by: the first whose own interval is not below it;
// n_edges: none of them yet. The edges are the snapshots' intervals, rising.
size_t tide_interval_edge(const uint32_t *edges, size_t n_edges, uint32_t interval);

// Joins what the snapshots that are left do not tell apart.
void tide_late_frees_settle(struct tide_late_frees *lates, const uint32_t *edges, size_t n_edges);
// Whether that is worth its while.
bool tide_late_frees_are_many(const struct tide_late_frees *lates);
