// SPDX-License-Identifier: Apache-2.0
//
// Walking what the limits leave of a tree.
#include "view/tree.h"

#include "base/alloc.h"

#include <stdlib.h>

void tide_tree_walk_init(struct tide_tree_walk *walk, const struct tide_tree *tree,
                         const struct tide_tree_limits *limits)
{
  *walk = (struct tide_tree_walk){.tree = tree, .limits = *limits};
}

void tide_tree_walk_done(struct tide_tree_walk *walk)
{
  free(walk->levels);
  *walk = (struct tide_tree_walk){0};
}

// Children are ordered by what moved in them: those worth showing are the first ones.
static uint32_t count_shown(const struct tide_tree_walk *walk, const struct tide_tree_node *node)
{
  const struct tide_tree_limits *limits = &walk->limits;
  const struct tide_tree_node *children = &walk->tree->nodes[node->first_child];
  uint32_t n = 0;
  if (limits->depth && walk->depth >= limits->depth)
    return 0;
  while (n < node->n_children && children[n].moved >= limits->min_moved &&
         (!limits->n_children || n < limits->n_children))
    n++;
  return n;
}

static void find_rest(struct tide_tree_walk *walk)
{
  const struct tide_tree_node *node = walk->node;
  walk->rest_n = node->n_children - walk->n_shown;
  walk->rest_total = 0;
  walk->rest_stacks = 0;
  for (uint32_t i = walk->n_shown; i < node->n_children; i++) {
    const struct tide_tree_node *child = &walk->tree->nodes[node->first_child + i];
    walk->rest_total += child->total;
    walk->rest_stacks += child->n_stacks;
  }
}

static enum tide_tree_step enter_node(struct tide_tree_walk *walk, uint32_t node)
{
  walk->depth = walk->n_levels;
  walk->node = &walk->tree->nodes[node];
  walk->n_shown = count_shown(walk, walk->node);
  find_rest(walk);
  TIDE_GROW(walk->levels, walk->n_levels, walk->cap);
  walk->levels[walk->n_levels++] = (struct tide_tree_level){node, walk->n_shown, 0, false};
  return TIDE_TREE_ENTER;
}

enum tide_tree_step tide_tree_walk_next(struct tide_tree_walk *walk)
{
  if (!walk->n_levels)
    return walk->node ? TIDE_TREE_END : enter_node(walk, 0);
  struct tide_tree_level *level = &walk->levels[walk->n_levels - 1];
  const struct tide_tree_node *node = &walk->tree->nodes[level->node];
  if (level->n_entered < level->n_shown)
    return enter_node(walk, node->first_child + level->n_entered++);
  walk->depth = walk->n_levels - 1;
  walk->node = node;
  walk->n_shown = level->n_shown;
  find_rest(walk);
  if (walk->rest_n && !level->rest_told) {
    level->rest_told = true;
    return TIDE_TREE_REST;
  }
  walk->n_levels--;
  return TIDE_TREE_LEAVE;
}

bool tide_tree_walk_is_last(const struct tide_tree_walk *walk)
{
  if (walk->depth == 0)
    return true;
  const struct tide_tree_level *above = &walk->levels[walk->depth - 1];
  const struct tide_tree_node *parent = &walk->tree->nodes[above->node];
  return above->n_entered == above->n_shown && above->n_shown == parent->n_children;
}
