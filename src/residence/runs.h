// SPDX-License-Identifier: Apache-2.0
//
// Runs of equal blocks: jemalloc's slabs, mimalloc's pages. Such an allocator gives memory back by
// runs, so one block that stays keeps all of its run. Which run a block is in follows from its
// address and size; nothing of the allocator is read.
//
//   jemalloc 5  four classes of size to a doubling; a slab has the least number of pages that
//               blocks of its class fill, so an address and a class tell where it begins
//   mimalloc    four classes, too, of words; pages of small blocks are 64 KiB, and begin at
//               multiples of that (1.x, 2.x)
//
// What does not look like that is not told: a run whose blocks are of different classes, or at
// addresses that are no multiple of its class apart, is counted as unclear and no more.
#pragma once
#include "residence/recorded.h"
#include "residence/space.h"

struct tide_run_at {
  uint64_t lo, hi;
  uint64_t class;   // bytes of a block; 0: it is in no run
  uint64_t n_slots; // blocks that there is room for
};

enum { TIDE_RUN_SITES = 16 }; // whose blocks are told apart in one run; those of more are not
struct tide_runs {
  enum tide_runs_layout layout;
  struct tide_space *space;
  struct tide_residence *to;
  struct tide_run_at now; // the run that is being told; class 0: none
  uint64_t first;         // its first block
  uint64_t n_live;
  struct {
    uint32_t site;
    uint64_t n; // blocks
  } sites[TIDE_RUN_SITES];
  size_t n_sites;
  bool is_unclear;
};

// The run that a block is in or, where there is none, the pages that it keeps.
struct tide_run_at tide_run_of(enum tide_runs_layout layout, uint64_t block, uint64_t size,
                               uint64_t page);

// Blocks come in the order of their addresses; the last run is told at the end.
void tide_runs_pass(struct tide_runs *runs, const struct tide_recorded_block *block);
void tide_runs_end(struct tide_runs *runs);
