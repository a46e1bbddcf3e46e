// SPDX-License-Identifier: Apache-2.0
//
// A text is made once per frame, however many stacks go through it, and a list takes memory only
// where it leaves the path of another: a profile may have a million frames, but its stacks written
// out may have a hundred times as many. Nor are they walked then: where frames are neither folded
// nor filtered, a stack is its caller's with a frame more.
#include "export/export_stacks.h"

#include "base/alloc.h"
#include "report/export_words.h"

#include <stdlib.h>

struct tide_export_node {
  uint32_t outer; // a node + 1; 0: none
  uint32_t text;
};

void tide_export_stacks_init(struct tide_export_stacks *stacks, struct tide_view *view,
                             tide_frame_text_fn *frame_text)
{
  *stacks = (struct tide_export_stacks){.view = view, .frame_text = frame_text};
}

void tide_export_stacks_done(struct tide_export_stacks *stacks)
{
  tide_intern_done(&stacks->texts);
  tide_id_index_done(&stacks->by_node);
  free(stacks->nodes);
  tide_intern_done(&stacks->pointers);
  free(stacks->list_of);
  free(stacks->ends);
  free(stacks->text_of);
  free(stacks->inner_of);
  free(stacks->scratch);
  *stacks = (struct tide_export_stacks){0};
}

static uint32_t text_of(struct tide_export_stacks *stacks, const struct tide_named_frame *frame)
{
  size_t n_before = stacks->pointers.n;
  uint32_t at = tide_intern_add(&stacks->pointers, &frame, sizeof frame);
  if (stacks->pointers.n > n_before) {
    TIDE_CLEANUP_FREE char *text = stacks->frame_text(stacks->view->naming, frame);
    TIDE_GROW(stacks->text_of, n_before, stacks->cap_text_of);
    stacks->text_of[at] = tide_intern_text(&stacks->texts, text);
  }
  return stacks->text_of[at];
}

static bool same_node(const void *table, uint32_t id, const void *key)
{
  const struct tide_export_node *a = &((const struct tide_export_node *)table)[id], *b = key;
  return a->outer == b->outer && a->text == b->text;
}

// The node of a text inside another one, + 1.
static uint32_t node_within(struct tide_export_stacks *stacks, uint32_t outer, uint32_t text)
{
  const struct tide_export_node key = {outer, text};
  uint64_t hash = tide_hash_word(tide_hash_word(0, outer), text);
  uint32_t node = tide_id_index_find(&stacks->by_node, hash, same_node, stacks->nodes, &key);
  if (node != UINT32_MAX)
    return node + 1;
  node = (uint32_t)stacks->n_nodes;
  TIDE_GROW(stacks->list_of, stacks->n_nodes, stacks->cap_list_of);
  TIDE_GROW(stacks->nodes, stacks->n_nodes, stacks->cap_nodes);
  stacks->list_of[node] = 0;
  stacks->nodes[stacks->n_nodes++] = key;
  tide_id_index_add(&stacks->by_node, hash, node);
  return node + 1;
}

// The innermost node of a stack as the view shows it; 0 when it shows none.
static uint32_t enter_shown(struct tide_export_stacks *stacks, uint32_t stack)
{
  size_t n;
  uint32_t at = 0;
  const struct tide_view_frame *frames = tide_view_stack(stacks->view, stack, &n);
  while (n-- > 0)
    at = node_within(stacks, at, text_of(stacks, frames[n].frame));
  return at;
}

// The same where the view shows everything.
static uint32_t enter_whole(struct tide_export_stacks *stacks, uint32_t stack)
{
  const struct tide_image *image = stacks->view->profile->image;
  uint32_t at = 0;
  size_t n = 0;
  if (!stacks->inner_of)
    stacks->inner_of = tide_alloc_array(image->n_frames, sizeof *stacks->inner_of);
  for (; stack && !stacks->inner_of[stack]; stack = image->frames[stack].parent) {
    TIDE_GROW(stacks->scratch, n, stacks->cap_scratch);
    stacks->scratch[n++] = stack;
  }
  if (stack)
    at = stacks->inner_of[stack] - 1;
  while (n-- > 0) {
    stack = stacks->scratch[n];
    bool is_frame = !(image->frames[stack].flags & (TIDE_FRAME_PAGES | TIDE_FRAME_LOST));
    size_t i = 0;
    const struct tide_named_frame *frames =
        is_frame ? tide_naming_of_node(stacks->view->naming, stack, &i) : NULL;
    while (i-- > 0)
      at = node_within(stacks, at, text_of(stacks, &frames[i]));
    stacks->inner_of[stack] = at + 1;
  }
  return at;
}

uint32_t tide_export_stacks_add(struct tide_export_stacks *stacks,
                                const struct tide_profile_site *site)
{
  bool is_whole = stacks->view->all_frames && tide_filter_is_empty(stacks->view->filter);
  uint32_t at = is_whole ? enter_whole(stacks, site->stack) : enter_shown(stacks, site->stack);
  if (!at)
    at = node_within(stacks, 0, tide_intern_text(&stacks->texts, tide_export_no_frames(site)));
  uint32_t *list = &stacks->list_of[at - 1];
  if (!*list) {
    TIDE_GROW(stacks->ends, stacks->n_lists, stacks->cap_ends);
    stacks->ends[stacks->n_lists] = at;
    *list = ++stacks->n_lists;
  }
  return *list - 1;
}

const uint32_t *tide_export_stacks_get(struct tide_export_stacks *stacks, uint32_t list,
                                       size_t *ret_n)
{
  size_t n = 0;
  for (uint32_t at = stacks->ends[list]; at; at = stacks->nodes[at - 1].outer) {
    TIDE_GROW(stacks->scratch, n, stacks->cap_scratch);
    stacks->scratch[n++] = stacks->nodes[at - 1].text;
  }
  *ret_n = n;
  return stacks->scratch;
}

uint32_t tide_export_stacks_innermost(const struct tide_export_stacks *stacks, uint32_t list)
{
  return stacks->ends[list];
}

uint32_t tide_export_stacks_outer(const struct tide_export_stacks *stacks, uint32_t node)
{
  return stacks->nodes[node - 1].outer;
}

uint32_t tide_export_stacks_text(const struct tide_export_stacks *stacks, uint32_t node)
{
  return stacks->nodes[node - 1].text;
}

// ---- the order of a tree ----
//
// A node's index is above that of the node around it, so sums go up the tree in one pass and ranks
// down in another; nothing recurs, however deep the stacks.

void tide_stack_order_done(struct tide_stack_order *order)
{
  free(order->nodes);
  tide_id_index_done(&order->by_frame);
  *order = (struct tide_stack_order){0};
}

static bool same_order_node(const void *table, uint32_t id, const void *key)
{
  const struct tide_order_node *a = &((const struct tide_order_node *)table)[id], *b = key;
  return a->outer == b->outer && a->frame == b->frame;
}

uint32_t tide_stack_order_enter(struct tide_stack_order *order, uint32_t outer, uint32_t frame)
{
  struct tide_order_node key = {outer, frame, 1};
  uint64_t hash = tide_hash_word(tide_hash_word(0, outer), frame);
  uint32_t node = tide_id_index_find(&order->by_frame, hash, same_order_node, order->nodes, &key);
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

static int compare_stacks(const void *left, const void *right)
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
    qsort(children, n - 1, sizeof *children, compare_stacks);
  // By rising outer node: the rank of that one is known by then.
  for (size_t i = 0; i + 1 < n; i++) {
    uint32_t outer = children[i].outer, node = children[i].node;
    ranks[node] = ranks[outer] + 1 + next[outer];
    next[outer] += sizes[node];
  }
  return ranks;
}
