// SPDX-License-Identifier: Apache-2.0
//
// The heaps of glibc's allocator, read from outside (glibc 2.35 to 2.43). Its words:
//
//   arena   a set of free lists and the heaps it takes memory from. The main arena's is grown by
//           brk; another's are pieces of 64 MiB address space, the newest at its front
//   chunk   what a heap consists of, one behind the other: a block with the word before it, its
//           size; the lowest bit of that says whether the chunk before is in use
//   top     the last chunk of a heap, from which new ones are cut
//
//   chunk c: | size of the one before, if that is free | size, 3 bits | the block ... |
//            c                                         c + 8          c + 16
//
// A chunk owns [c + 8, c + size + 8): the first word behind a block is the block's, too.
#pragma once
#include "base/lookup.h"
#include "residence/ledger.h"
#include "residence/recorded.h"

struct tide_glibc_heap {
  uint64_t lo, hi;
  uint64_t first, top; // chunks; top 0: not in this heap
  size_t arena;        // index in the table's
};

struct tide_addresses { // sorted, once all are there
  uint64_t *items;
  size_t n, cap;
};

struct tide_marks_piece;
struct tide_marks { // of chunks
  struct tide_marks_piece **pieces, *latest;
  size_t n, cap;
  struct tide_id_index index; // of pieces, by their addresses
};

struct tide_glibc {
  struct tide_glibc_heap *heaps; // by address
  size_t n_heaps, cap_heaps;
  struct tide_marks fast; // chunks in fast bins: free, though their neighbours don't know
  bool trims_huge;        // by pages of 2 MiB
};

// Finds all arenas, and adds them to the table. False: there are none that can be understood.
bool tide_glibc_find(struct tide_space *space, struct tide_residence *table,
                     struct tide_glibc *ret_glibc);
// Marks the chunks of lists that begin there.
void tide_fast_bins_read(struct tide_space *space, const uint64_t *heads, size_t n,
                         struct tide_marks *marks);
bool tide_marks_have(struct tide_marks *marks, uint64_t address);
void tide_marks_done(struct tide_marks *marks);
void tide_glibc_done(struct tide_glibc *glibc);

// Tells every heap, and what malloc_trim(0) would give back.
void tide_glibc_walk(struct tide_glibc *glibc, struct tide_ledger *ledger,
                     struct tide_recorded *recorded);

void tide_addresses_add(struct tide_addresses *addresses, uint64_t address);
void tide_addresses_sort(struct tide_addresses *addresses);
// The index of the first that is not below it.
size_t tide_addresses_from(const struct tide_addresses *addresses, uint64_t address);

// Is it the size of a chunk that fits in front of an end?
static inline bool tide_chunk_is_plausible(uint64_t chunk, uint64_t size, uint64_t end)
{
  return size >= 32 && size % 16 == 0 && chunk + size > chunk && chunk + size <= end;
}
