// SPDX-License-Identifier: Apache-2.0
//
// Counting spans of memory as they are told, kind by kind and page by page: which pages hold free
// memory that cannot be given back, and for whom.
#pragma once
#include "residence/table.h"
#include "residence/space.h"

#define TIDE_NO_SITE UINT32_MAX

struct tide_ledger {
  struct tide_space *space;
  struct tide_residence *to;
  struct { // the page that is being told
    uint64_t start;
    bool resident, in_use; // a block on it is in use
    uint64_t free;
    uint32_t site;   // the one whose blocks are on it
    bool of_several; // several sites'
  } page;
};

// [lo, hi) is of a kind; of a block of a site, or TIDE_NO_SITE. Spans of a heap come in the order
// of their addresses.
void tide_ledger_span(struct tide_ledger *ledger, uint64_t lo, uint64_t hi,
                      enum tide_residence_kind kind, uint32_t site);
// The last page of a heap is told.
void tide_ledger_end_heap(struct tide_ledger *ledger);
