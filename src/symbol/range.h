// SPDX-License-Identifier: Apache-2.0
//
// A table of address ranges that answers "which range holds this address". Ranges may overlap and
// nest, as those of units and symbols do in real files; the one that starts last wins, and among
// those the shortest. Fill it with add, sort it once, then find. Single-threaded.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct tide_address_range {
  uint64_t lo, hi; // [lo, hi)
  uint64_t reach;  // the greatest hi of this and all earlier ranges: how far back to look
  uint32_t value;  // the caller's: an index into what the range stands for
};

struct tide_ranges {
  struct tide_address_range *items; // owned
  size_t n, cap;
};

void tide_ranges_done(struct tide_ranges *ranges);
void tide_ranges_add(struct tide_ranges *ranges, uint64_t lo, uint64_t hi, uint32_t value);
void tide_ranges_sort(struct tide_ranges *ranges);

// Of the sorted table; NULL when no range holds the address. Valid until the next change.
const struct tide_address_range *tide_ranges_find(const struct tide_ranges *ranges, uint64_t addr);
// The last range that starts at or before the address, whether it reaches it or not.
const struct tide_address_range *tide_ranges_before(const struct tide_ranges *ranges,
                                                    uint64_t addr);
