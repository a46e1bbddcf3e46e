// SPDX-License-Identifier: Apache-2.0
//
// What each stack did in each interval between two snapshots, exactly, of a target that runs.
//
// The supervisor ends an interval by raising its number in the store. From then on every event of
// the target belongs to the next one. A cell that changes in a new interval first notes its
// counters as they were: its closing. So the state of a cell at the end of an interval is its
// closing if the cell has changed since, and what it says now if it has not.
//
//     the number   4              |5                         |6
//     cell A       --+1-----+1----|------------+1------+1----|----------->
//     A notes                                  ^ its closing of 4: n_alloc is 2
//     first look                   ^ A says 2, and has not changed in 5: 4 had 2
//     second look                                             ^ A says 4, and has not changed in 6:
//                                                               5 had 4 - 2
//
// Two things may come late, and neither is lost:
//  1. An event had begun before the number rose, and is counted after the cell was looked at. It
//     shows at the next look as belonging to the interval it began in.
//  2. The closing itself. Between two looks at a cell the number rises once, so the cell closes at
//     most twice, once for each number it may have seen; it keeps two.
// This holds for any number of threads, as a cell has one writer.
#pragma once
#include "model/model.h"
#include "observe/store_view.h"
#include "observe/top_cells.h"

struct tide_tally {
  uint64_t n_alloc, b_alloc, n_free, b_free;
};

struct tide_resizes {
  uint64_t n, b_old, b_new;
};

// What was taken of a cell. Of most it is little: numbers that do not fit are among the wide ones.
struct tide_interval_cell {
  uint32_t b_alloc, b_free; // wide: b_alloc is the index
  uint16_t n_alloc, n_free;
  uint16_t interval; // its own, at the last look; 0: not seen yet
  uint16_t closed;   // the latest closing that was
};
struct tide_interval_wide {
  struct tide_tally seen;
  uint32_t interval, closed;
};

// What the resizes of a block of cells add up to.
struct tide_interval_block {
  struct tide_resizes resizes;
  uint32_t first, n; // cells
  bool is_settled;   // as of the last look, and nothing had changed then
};

struct tide_intervals {
  struct tide_interval_cell **chunks; // of cells by id, each made when one of it is looked at
  size_t n_chunks;
  struct tide_interval_wide *wides;
  size_t n_wides, cap_wides;
  struct tide_interval_block *blocks;
  size_t n_blocks;
  struct tide_top_cells top;   // heap cells that held most at the last look
  size_t n_live;               // cells that held something at the last look
  struct tide_tally heap;      // sums of all heap cells at the last look
  struct tide_resizes resizes; // likewise
};

typedef void tide_interval_take(void *context, uint32_t cell, uint32_t stack, uint32_t interval,
                                const struct tide_tally *more);

// Adds what a cell has of resizes.
void tide_resizes_add(struct tide_resizes *sum, struct tide_store_view *view,
                      const struct tide_cell *cell);

void tide_intervals_done(struct tide_intervals *intervals);

// Ends the present interval. Gives its number, 0: the store cannot be written, or has no more.
uint32_t tide_interval_end(struct tide_store_view *view);

// Takes whatever happened in intervals before the one given and was not taken yet. Must come once
// after every tide_interval_end(), with the view refreshed before that. With UINT32_MAX as the
// interval takes all there is, of whatever is under way as much as can be seen. The view's nodes
// must be up to date.
void tide_intervals_collect(struct tide_intervals *intervals, struct tide_store_view *view,
                            uint32_t before, tide_interval_take *take, void *context);

// What was taken of a cell so far.
struct tide_tally tide_interval_seen(const struct tide_intervals *intervals, uint32_t cell);

// ---- late frees ----
//
// Late frees on their way from a store to a capture: taken from the chunks that the target's
// threads have closed, gathered by stack, interval of birth and interval of the end, and joined
// where the snapshots between two intervals have been thinned out. A block that is then born and
// freed in the same one was no late free.

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
