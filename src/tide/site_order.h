// SPDX-License-Identifier: Apache-2.0
//
// The order of an image's sites in a file. A cut loses what matters least: about a part of rows
// comes first, of the stacks with the largest share of the peak (then of allocated bytes), then the
// others. Both are by rising stack, so neighbours were met one after the other, in this image as in
// others of its program. The rows of a stack stay together, because single rows of a stack (a
// thread that only frees) mean little.
#pragma once
#include "model/model.h"

struct tide_rank { // of one site, by its own numbers
  int64_t peak_bytes;
  uint64_t b_alloc;
  uint32_t stack; // below n_frames
  uint32_t row;   // whose it is; ties go by it
};

// Sorts them by the sums of their stacks, which they then have in place of their own numbers.
void tide_ranks_sort(struct tide_rank *ranks, size_t n, size_t n_frames);

// Indexes of all sites of an image in the order of a file; owned by the caller, free().
size_t *tide_sites_in_file_order(const struct tide_image *image);
