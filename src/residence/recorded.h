// SPDX-License-Identifier: Apache-2.0
//
// What a recorder inside the process knows: its own memory, every live block with its site, and the
// mappings that the program made itself. Read from outside; what makes no sense is left out.
#pragma once
#include "model/residence_table.h"
#include "residence/space.h"

struct tide_recorded_block {
  uint64_t lo, hi; // as it was asked for
  uint32_t site;   // index in the table's sites
};

struct tide_recorded_range {
  uint64_t lo, hi;
};

// A piece of the list of live blocks: all that begin in [lo, hi).
struct tide_recorded_window {
  uint64_t lo, hi; // both 0: nothing was read yet
  struct tide_recorded_block *blocks;
  size_t n, cap;
  size_t at;       // the block that was given last
  size_t in_order; // of the first so many
};

// How an allocator lays out equal blocks (residence/runs.h).
enum tide_runs_layout { TIDE_RUNS_NONE, TIDE_RUNS_MIMALLOC, TIDE_RUNS_JEMALLOC };

struct tide_recorded {
  bool is_there;
  enum tide_runs_layout runs; // of the allocator, or of one of several
  uint64_t store_lo, store_hi;
  char *allocator;                    // the file of the allocator it hooks; owned, may be NULL
  struct tide_recorded_block *mapped; // by address; their sites are of mappings
  size_t n_mapped, cap_mapped;
  struct tide_recorded_range *own; // its memory, the store not among it
  size_t n_own, cap_own;
  // Inside.
  struct tide_space *space;
  struct tide_residence *table;
  uint64_t live_map;       // address in the process; 0: none
  uint32_t *stack_of_cell; // 0: not in use
  size_t n_cells;
  uint32_t *site_of_stack; // index + 1
  size_t n_stacks;
  struct tide_recorded_window window;
};

// Sites are added to the table as they are met; both it and the space stay until the end. Where
// there is no recorder nothing is done. given_fd is its store, and of another one nothing is read;
// -1: a copy is made, which stays open: *ret_store_fd, -1: none.
void tide_recorded_open(struct tide_space *space, int given_fd, struct tide_residence *table,
                        struct tide_recorded *ret_recorded, int *ret_store_fd);
void tide_recorded_done(struct tide_recorded *recorded);

// A copy of the store, the caller's to close; -1: there is none.
int tide_recorded_copy(struct tide_space *space);

// Every live block, in any order; gives the number of tables of blocks that could not be read.
uint64_t tide_recorded_each(struct tide_recorded *recorded, void *context,
                            void (*each)(void *context, const struct tide_recorded_block *block));
// The first block that begins at an address or behind it, and the one behind that which was given
// last; NULL: there is none. They are read from the process piece by piece, and the one that was
// given stays until the next question. Quick in order.
const struct tide_recorded_block *tide_recorded_from(struct tide_recorded *recorded,
                                                     uint64_t address);
const struct tide_recorded_block *tide_recorded_next(struct tide_recorded *recorded);
// The block that begins there; NULL: none is known.
const struct tide_recorded_block *tide_recorded_at(struct tide_recorded *recorded,
                                                   uint64_t address);
