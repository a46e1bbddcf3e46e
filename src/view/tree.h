// SPDX-License-Identifier: Apache-2.0
//
// The stacks of a view as one tree: from the outermost function down to the allocation or,
// inverted, from the allocating function out to its callers. Stacks that begin alike share nodes.
//
//  1. total = self + the totals of the children, for every node that the limits leave; the root's
//     total is the sum of the weights of all stacks in the view. Other nodes have no children.
//  2. A stack counts once in a node, however often its function recurs: neighbouring repetitions,
//     of one function or of a short cycle of them, become one node that says how many they were.
//  3. A node's index is above its parent's; children are neighbours, the weightiest first.
//
// Numbers of a damaged capture may be negative; nodes are ordered by how far from zero they are.
#pragma once
#include "view/frame_names.h"
#include "view/view.h"

struct tide_tree_node {
  const struct tide_named_frame *frame; // of its first stack, the naming's; NULL: root, no stack
  int64_t total;                        // of all stacks through it
  int64_t self;                         // of the stacks that end at it
  uint64_t moved;                       // as total, of the weights without their signs
  uint32_t name;                        // in the tree's names; 0: root, events without a stack
  uint32_t parent;                      // of the root: 0
  uint32_t first_child, n_children;
  uint32_t n_stacks;
  uint32_t n_deep;   // frames of one stack that it stands for, at most: more than 1 is recursion
  bool has_one_line; // of its source file
};

struct tide_tree {
  struct tide_tree_node *nodes; // [0] is the root
  uint32_t n_nodes;
  struct tide_frame_names names;
  bool inverted, has_folded; // some runtime frames are not shown
};

struct tide_tree_limits { // what of a tree is worth showing; 0: no limit
  uint64_t min_moved;     // nodes below are left out
  size_t depth;           // levels below the root
  size_t n_children;      // of each node
};

struct tide_tree_options {
  bool inverted;
  bool by_line;                   // each line of a function is a node of its own
  struct tide_tree_limits limits; // what they leave out is not looked into; no walk may show more
};

// What all stacks of a view add up to: the root of its tree, for limits that are shares of it.
struct tide_tree_node tide_tree_root(const struct tide_view *view);

// The view must outlive the tree. Sites without weight are left out.
struct tide_tree *tide_tree_new(struct tide_view *view, const struct tide_tree_options *options);
void tide_tree_free(struct tide_tree *tree); // NULL is fine

enum tide_tree_step {
  TIDE_TREE_ENTER, // a node, before its children
  TIDE_TREE_REST,  // after its children: what of them is left out
  TIDE_TREE_LEAVE,
  TIDE_TREE_END,
};

struct tide_tree_level {
  uint32_t node, n_shown, n_entered;
  bool rest_told;
};

// A walk from the root through what the limits leave, without recursion: stacks may be deep. The
// root is entered and left like any other node.
struct tide_tree_walk {
  const struct tide_tree *tree;
  struct tide_tree_limits limits;
  struct tide_tree_level *levels; // [0] is the root's
  size_t depth;                   // of the node the last step was about; the root's is 0
  const struct tide_tree_node *node;
  uint32_t n_shown;   // its children that are shown: the first ones
  uint32_t rest_n;    // its children that are not
  int64_t rest_total; // their sum
  uint32_t rest_stacks;
  // Private.
  size_t n_levels, cap;
};

void tide_tree_walk_init(struct tide_tree_walk *walk, const struct tide_tree *tree,
                         const struct tide_tree_limits *limits);
enum tide_tree_step tide_tree_walk_next(struct tide_tree_walk *walk);
void tide_tree_walk_done(struct tide_tree_walk *walk);

// Whether the node entered last is its parent's last child, with nothing left out after it.
bool tide_tree_walk_is_last(const struct tide_tree_walk *walk);
