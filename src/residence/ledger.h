// SPDX-License-Identifier: Apache-2.0
//
// Counting spans of memory as they are told, kind by kind and page by page: which pages hold free
// memory that cannot be given back, and for whom.
#pragma once
#include "residence/recorded.h"
#include "residence/space.h"
#include "model/residence_table.h"

#define TIDE_NO_SITE UINT32_MAX

struct tide_ledger {
  struct tide_space *space;
  struct tide_residence *to;
  struct { // the page that is being told
    uint64_t start;
    bool resident, in_use; // a block on it is in use
    uint64_t free;
    uint32_t site;       // the one whose blocks are on it
    bool of_several;     // several sites'
    uint64_t live, idle; // bytes, ends of arenas being idle
  } page;
  bool is_heap;  // what is told belongs on the map
  size_t bucket; // of the map: the one that was last added to
};

// [lo, hi) is of a kind; of a block of a site, or TIDE_NO_SITE. Spans of a heap come in the order
// of their addresses.
void tide_ledger_span(struct tide_ledger *ledger, uint64_t lo, uint64_t hi,
                      enum tide_residence_kind kind, uint32_t site);
// What is told from here on is an allocator's, until the last page of the heap is.
void tide_ledger_begin_heap(struct tide_ledger *ledger);
void tide_ledger_end_heap(struct tide_ledger *ledger);

// ---- the map of the heap ----
//
// It begins with a bucket for each page. When there are too many, two become one, so that the map
// takes the same memory however large the heap is.

// Bytes of a page, or of another stretch that lies in one bucket.
void tide_ledger_map_add(struct tide_ledger *ledger, uint64_t address, uint64_t live,
                         uint64_t free_bytes, uint64_t pinned);
// Whole pages of a kind, as far as they are in memory.
void tide_ledger_map_add_pages(struct tide_ledger *ledger, uint64_t lo, uint64_t hi, bool is_idle);

// ---- claims ----
//
// Ranges of a process's memory that somebody is known to have: kept by address, told at the end.
// The kernel joins anonymous mappings that lie side by side, so a mapping is never one thing.

struct tide_claim {
  uint64_t lo, hi;
  enum tide_residence_kind kind;
  uint32_t site;               // or TIDE_NO_SITE
  uint64_t block_lo, block_hi; // what was asked for, of a block with a mapping of its own
  size_t order;                // in which they were added
  bool is_told;                // elsewhere
};

struct tide_claims {
  struct tide_claim *items;
  size_t n, cap;
  size_t n_told; // of the first, until they are settled
};

void tide_claims_add(struct tide_claims *claims, uint64_t lo, uint64_t hi,
                     enum tide_residence_kind kind, uint32_t site);
// Told elsewhere: a heap. Before all others, by address.
void tide_claims_add_told(struct tide_claims *claims, uint64_t lo, uint64_t hi);
// By address, and none over another: the earlier one has it.
void tide_claims_settle(struct tide_claims *claims);
void tide_claims_done(struct tide_claims *claims);

// A block, if it lies outside of all heaps in a mapping of its own.
void tide_claims_add_mapped_block(struct tide_claims *claims, struct tide_space *space,
                                  const struct tide_recorded_block *block);
// The same of blocks that nobody recorded, where they begin a mapping.
void tide_claims_add_unrecorded(struct tide_claims *claims, struct tide_space *space);
// Stacks of threads, of glibc and of musl.
void tide_claims_add_stacks(struct tide_claims *claims, struct tide_space *space);
