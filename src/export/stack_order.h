// SPDX-License-Identifier: Apache-2.0
//
// Stacks in the order in which a tree of them is drawn: those that begin alike are neighbours, the
// weightier first. Written in this order a list of stacks looks like a flame graph, and from one to
// the next few frames change.
#pragma once
#include "base/lookup.h"

struct tide_order_node {
  uint32_t outer; // node around it; 0: none
  uint32_t frame; // as the user numbers them
  uint32_t depth; // frames from the outermost to this one
};

struct tide_stack_order {        // all zero: empty
  struct tide_order_node *nodes; // [0] is no node, once there are any
  size_t n_nodes;
  // Private.
  size_t cap;
  struct tide_id_index by_frame;
};

void tide_stack_order_done(struct tide_stack_order *order);

// The node of a frame inside another one (0: outermost).
uint32_t tide_stack_order_enter(struct tide_stack_order *order, uint32_t outer, uint32_t frame);

// The rank of each node, the weight of each given: a node comes before those inside it, its
// children by falling weight of all that is in them. Owned by the caller; weights are spent.
uint32_t *tide_stack_order_ranks(const struct tide_stack_order *order, uint64_t *weights);
