// SPDX-License-Identifier: Apache-2.0
//
// A node's index is above that of the node around it, so sums go up the tree in one pass and ranks
// down in another; nothing recurs, however deep the stacks.
#include "export/stack_order.h"

#include "base/alloc.h"

#include <stdlib.h>

void tide_stack_order_done(struct tide_stack_order *order)
{
  free(order->nodes);
  tide_id_index_done(&order->by_frame);
  *order = (struct tide_stack_order){0};
}

static bool same_node(const void *table, uint32_t id, const void *key)
{
  const struct tide_order_node *a = &((const struct tide_order_node *)table)[id], *b = key;
  return a->outer == b->outer && a->frame == b->frame;
}

uint32_t tide_stack_order_enter(struct tide_stack_order *order, uint32_t outer, uint32_t frame)
{
  struct tide_order_node key = {outer, frame, 1};
  uint64_t hash = tide_hash_word(tide_hash_word(0, outer), frame);
  uint32_t node = tide_id_index_find(&order->by_frame, hash, same_node, order->nodes, &key);
  if (node != UINT32_MAX)
    return node;
  if (!order->n_nodes) {
    TIDE_GROW(order->nodes, order->n_nodes, order->cap);
    order->nodes[order->n_nodes++] = (struct tide_order_node){0};
  }
  TIDE_GROW(order->nodes, order->n_nodes, order->cap);
  node = (uint32_t)order->n_nodes++;
  key.depth = order->nodes[outer].depth + 1;
  order->nodes[node] = key;
  tide_id_index_add(&order->by_frame, hash, node);
  return node;
}

struct child {
  uint32_t outer, node;
  uint64_t weight;
};

static int compare(const void *left, const void *right)
{
  const struct child *a = left, *b = right;
  if (a->outer != b->outer)
    return a->outer < b->outer ? -1 : 1;
  if (a->weight != b->weight)
    return a->weight > b->weight ? -1 : 1;
  return (a->node > b->node) - (a->node < b->node);
}

uint32_t *tide_stack_order_ranks(const struct tide_stack_order *order, uint64_t *weights)
{
  size_t n = order->n_nodes;
  uint32_t *ranks = tide_alloc_array(n + 1, sizeof *ranks);
  TIDE_CLEANUP_FREE uint32_t *sizes = tide_alloc_array(n + 1, sizeof *sizes);
  TIDE_CLEANUP_FREE uint32_t *next = tide_alloc_array(n + 1, sizeof *next);
  TIDE_CLEANUP_FREE struct child *children = tide_alloc_array(n + 1, sizeof *children);
  for (size_t i = n; i-- > 1;) {
    uint32_t outer = order->nodes[i].outer;
    weights[outer] += weights[i];
    sizes[outer] += ++sizes[i];
    children[i - 1] = (struct child){outer, (uint32_t)i, weights[i]};
  }
  if (n > 1)
    qsort(children, n - 1, sizeof *children, compare);
  // By rising outer node: the rank of that one is known by then.
  for (size_t i = 0; i + 1 < n; i++) {
    uint32_t outer = children[i].outer, node = children[i].node;
    ranks[node] = ranks[outer] + 1 + next[outer];
    next[outer] += sizes[node];
  }
  return ranks;
}
