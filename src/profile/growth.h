// SPDX-License-Identifier: Apache-2.0
//
// How what a place holds grew: when, in what steps, and what was asked for on the way. Read from
// the snapshots, so it is as fine as they are, and has no more steps than there are of them. Of
// memory that the program maps itself it is the history of brk, mmap, mremap and munmap by stack.
#pragma once
#include "model/model.h"

struct tide_growth_step { // a look at which something had changed since the one before
  uint64_t time_ns;
  int64_t held, rose; // bytes; rose: more than at the look before, or less
  uint64_t n, bytes;  // asked for since then, also what is gone again
};

struct tide_growth {
  struct tide_growth_step *steps; // by time; owned
  size_t n, cap;
  bool has_counts; // else n and bytes of the steps are not known
  // What follows from them.
  size_t n_rises, n_falls;
  const struct tide_growth_step *first, *last, *largest; // of the rises; NULL: there is none
  bool is_by_shares;   // four rises or more, and each but the first by half of what was held
  uint64_t each_bytes; // all that was asked for came in pieces of so many bytes; 0: it did not
};

// Of stacks that are all different.
void tide_growth_init(struct tide_growth *growth, const struct tide_image *image,
                      const uint32_t *stacks, size_t n_stacks);
void tide_growth_done(struct tide_growth *growth);
