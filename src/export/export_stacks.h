// SPDX-License-Identifier: Apache-2.0
//
// Stacks as a format's texts: each distinct text has a number, and so has each distinct list of
// texts. Two stacks of a view may read alike (a library loaded again, hidden frames, events without
// a stack), and readers want them as one.
#pragma once
#include "base/lookup.h"
#include "view/view.h"

// What a format writes for a frame; owned by the caller.
typedef char *tide_frame_text_fn(const struct tide_naming *naming,
                                 const struct tide_named_frame *frame);

struct tide_export_stacks {
  struct tide_view *view; // not owned
  tide_frame_text_fn *frame_text;
  struct tide_intern texts;
  uint32_t n_lists;
  // Private. Lists are paths of a tree from the outermost frame in, since most of them begin alike.
  struct tide_export_node *nodes;
  size_t n_nodes, cap_nodes;
  struct tide_id_index by_node;
  uint32_t *list_of;           // per node: the list that ends there + 1; 0: none
  uint32_t *ends;              // per list: its innermost node
  struct tide_intern pointers; // frames met before
  uint32_t *text_of;           // per one of them
  uint32_t *inner_of;          // per frame of the image whose stack is known: its node + 1; else 0
  uint32_t *scratch;
  size_t cap_list_of, cap_ends, cap_text_of, cap_scratch;
};

void tide_export_stacks_init(struct tide_export_stacks *stacks, struct tide_view *view,
                             tide_frame_text_fn *frame_text);
void tide_export_stacks_done(struct tide_export_stacks *stacks);

// The number of a site's list; it is n_lists - 1 afterwards if the list is new.
uint32_t tide_export_stacks_add(struct tide_export_stacks *stacks,
                                const struct tide_profile_site *site);

// The numbers of a list's texts, innermost first, at least one; valid until the next call.
const uint32_t *tide_export_stacks_get(struct tide_export_stacks *stacks, uint32_t list,
                                       size_t *ret_n);

// A list walked: its innermost node, the node around one (0: none), and the text of one.
uint32_t tide_export_stacks_innermost(const struct tide_export_stacks *stacks, uint32_t list);
uint32_t tide_export_stacks_outer(const struct tide_export_stacks *stacks, uint32_t node);
uint32_t tide_export_stacks_text(const struct tide_export_stacks *stacks, uint32_t node);

// ---- the order of a tree ----
//
// Stacks in the order in which a tree of them is drawn: those that begin alike are neighbours, the
// weightier first. Written in this order a list of stacks looks like a flame graph, and from one to
// the next few frames change.

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
