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

struct tide_recorded {
  bool is_there, is_jemalloc; // the allocator, or one of several
  uint64_t store_lo, store_hi;
  char *allocator;                    // the file of the allocator it hooks; owned, may be NULL
  struct tide_recorded_block *blocks; // by address
  size_t n_blocks, cap_blocks;
  struct tide_recorded_block *mapped; // by address; their sites are of mappings
  size_t n_mapped, cap_mapped;
  struct tide_recorded_range *own; // its memory, the store not among it
  size_t n_own, cap_own;
  size_t latest; // the block that was asked for last
};

// Adds the sites to the table. Where there is no recorder nothing is done. given_fd is its store,
// and of another one nothing is read; -1: a copy is made, which stays open: *ret_store_fd, -1:
// none.
void tide_recorded_read(struct tide_space *space, int given_fd, struct tide_residence *table,
                        struct tide_recorded *ret_recorded, int *ret_store_fd);
void tide_recorded_done(struct tide_recorded *recorded);

// The index of the first block that begins at an address or behind it. Quick in order.
size_t tide_recorded_from(struct tide_recorded *recorded, uint64_t address);
// The block that begins there; NULL: none is known.
const struct tide_recorded_block *tide_recorded_at(struct tide_recorded *recorded,
                                                   uint64_t address);
