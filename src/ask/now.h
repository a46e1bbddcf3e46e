// SPDX-License-Identifier: Apache-2.0
//
// The store of this process, read by itself while its threads write (pprof.c, stats.c). Of what is
// found there nothing is believed (store/layout.h, invariant 7): a number that leads anywhere is
// checked first.
#pragma once
#include "store/store.h"

// A cell with the pairs of its thread that wait for it, as both were at one moment; if its thread
// never rests, without them.
struct tide_cell tide_now_cell(uint32_t id, uint32_t slot);

// A text of the store, which ends where it says or where there is no more of it.
const char *tide_now_text(uint32_t offset, size_t *ret_n);

// The next node outwards; below TIDE_NODE_FIRST: the kind of stack that it was.
static inline uint32_t tide_now_outer(uint32_t node)
{
  uint32_t parent = tide_node_at(node)->parent;
  return parent < node ? parent : TIDE_NODE_ROOT_NONE;
}

// Of a stack below the number of nodes: is it of blocks, not of mappings?
bool tide_now_is_of_heap(uint32_t stack);
