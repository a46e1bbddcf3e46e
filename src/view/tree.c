// SPDX-License-Identifier: Apache-2.0
//
// First every stack becomes a row of steps, in the tree's direction and with recursion folded. Then
// nodes are split: a node has a range of the stacks, which its children share out among them by
// their next step. So siblings come out side by side, a step is looked at twice, and no node is
// ever searched for. The node made last is split first, since its steps are still at hand.
//
// Rows are read in the order of the trie, where neighbours share all but their innermost frames:
// what a row has in common with a row before it, on the side of the outermost frame, is kept there.
#define _GNU_SOURCE
#include "view/tree.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { CYCLE_MAX = 8, DEEP_MAX = (1 << 30) - 1 };

struct turn { // a step of the stack that is being read
  uint32_t frame, name, line, n_deep;
  bool has_one_line;
};

struct step { // the same, packed: there may be many
  uint32_t frame;
  uint32_t n_deep : 31, has_one_line : 1;
};

struct stack {
  size_t first_step;        // of its own steps
  uint32_t n_steps, n_lent; // n_lent of them are those of
  uint32_t lender;          // this stack, all of whose steps are its own
  int64_t weight;
};

struct range { // of a node: its stacks, and how many steps lead to it
  uint32_t first, past, depth;
};

struct group { // a child in the making
  struct tide_tree_node node;
  uint32_t past; // where its next stack goes
};

struct builder {
  struct tide_tree *tree;
  struct tide_tree_limits limits;
  uint32_t cap_nodes;
  struct turn *turns;
  size_t n_turns, cap_turns;
  uint32_t *last; // frames of the stack before, by their place in it
  size_t n_last, cap_last;
  struct step *steps;
  size_t n_steps, cap_steps;
  struct stack *stacks;
  uint32_t n_stacks;
  struct range *ranges; // per node
  uint32_t n_ranges, cap_ranges;
  uint32_t *order, *scratch; // stacks, in ranges
  struct group *groups;
  uint32_t n_groups, cap_groups;
  uint32_t *group_of; // name -> group + 1 of the node at work
  uint32_t *pending;  // nodes to split
  uint32_t n_pending, cap_pending;
};

static bool same_names(const struct turn *a, const struct turn *b, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (a[i].name != b[i].name)
      return false;
  return true;
}

// If the last turns repeat those before them, they become one.
static void fold_recursion(struct builder *b)
{
  for (size_t cycle = 1; cycle <= CYCLE_MAX && 2 * cycle <= b->n_turns; cycle++) {
    struct turn *again = &b->turns[b->n_turns - cycle], *first = again - cycle;
    if (!same_names(first, again, cycle))
      continue;
    for (size_t i = 0; i < cycle; i++) {
      first[i].n_deep += again[i].n_deep;
      first[i].has_one_line &= again[i].has_one_line && first[i].line == again[i].line;
    }
    b->n_turns -= cycle;
    return;
  }
}

// The frame's index among all; most often it is the one that stood there in the stack before.
static uint32_t find_frame(struct builder *b, size_t place, const struct tide_named_frame *frame)
{
  if (place >= b->n_last) {
    TIDE_GROW(b->last, b->n_last, b->cap_last);
    b->last[b->n_last++] = 0;
    place = b->n_last - 1;
  }
  const struct tide_frame_names *names = &b->tree->names;
  if (names->frames[b->last[place]].frame != frame)
    b->last[place] = tide_frame_names_add(&b->tree->names, frame);
  return b->last[place];
}

static void add_turn(struct builder *b, size_t place, const struct tide_named_frame *frame)
{
  uint32_t idx = find_frame(b, place, frame);
  TIDE_GROW(b->turns, b->n_turns, b->cap_turns);
  b->turns[b->n_turns++] =
      (struct turn){idx, b->tree->names.frames[idx].name, frame ? frame->line : 0, 1, true};
  fold_recursion(b);
}

static void read_turns(struct builder *b, struct tide_view *view,
                       const struct tide_profile_site *site)
{
  size_t n;
  b->n_turns = 0;
  if (site->kind == TIDE_SITE_LOST) {
    add_turn(b, 0, NULL);
    return;
  }
  const struct tide_view_frame *frames = tide_view_stack(view, site->stack, &n);
  for (size_t i = 0; i < n; i++) {
    const struct tide_view_frame *frame = &frames[b->tree->inverted ? i : n - 1 - i];
    b->tree->has_folded |= frame->n_folded > 0;
    add_turn(b, i, frame->frame);
  }
}

static struct step step_from(const struct turn *turn)
{
  return (struct step){turn->frame, turn->n_deep < DEEP_MAX ? turn->n_deep : DEEP_MAX,
                       turn->has_one_line};
}

// How many steps from the outermost on the stack being read has in common with another one.
static uint32_t count_shared(const struct builder *b, const struct stack *other)
{
  uint32_t n = 0, own = (uint32_t)b->n_turns, past = other->n_steps < own ? other->n_steps : own;
  for (; n < past; n++) {
    uint32_t at = b->tree->inverted ? own - 1 - n : n;
    uint32_t there = b->tree->inverted ? other->n_steps - 1 - n : n;
    struct step a = step_from(&b->turns[at]), c = b->steps[other->first_step + there];
    if (a.frame != c.frame || a.n_deep != c.n_deep || a.has_one_line != c.has_one_line)
      break;
  }
  return n;
}

static void add_stack(struct builder *b, int64_t weight)
{
  struct stack stack = {b->n_steps, (uint32_t)b->n_turns, 0, b->n_stacks, weight};
  if (b->n_stacks) {
    uint32_t lender = b->stacks[b->n_stacks - 1].lender;
    uint32_t n_shared = count_shared(b, &b->stacks[lender]);
    if (n_shared > b->n_turns / 2) {
      stack.lender = lender;
      stack.n_lent = n_shared;
    }
  }
  size_t first = b->tree->inverted ? 0 : stack.n_lent, n = b->n_turns - stack.n_lent;
  for (size_t i = first; i < first + n; i++) {
    TIDE_GROW(b->steps, b->n_steps, b->cap_steps);
    b->steps[b->n_steps++] = step_from(&b->turns[i]);
  }
  b->stacks[b->n_stacks++] = stack;
}

// Where each node of the trie comes when every node is followed by all that is below it.
static uint32_t *trie_order(const struct tide_image *image)
{
  uint32_t n = (uint32_t)image->n_frames;
  uint32_t *next = tide_alloc_array(n, sizeof *next), *order = tide_alloc_array(n, sizeof *order);
  for (uint32_t i = n; i-- > 1;)
    next[image->frames[i].parent] += next[i] + 1; // first, how many are below
  next[0] = 1;                                    // then, where the next child goes
  for (uint32_t i = 1; i < n; i++) {
    uint32_t *of_parent = &next[image->frames[i].parent], at = *of_parent;
    *of_parent += next[i] + 1;
    next[i] = at + 1;
    order[at] = i;
  }
  free(next);
  return order;
}

// In the order of the trie and not of weights: neighbours share most of their frames, which are
// then at hand.
static void read_stacks(struct builder *b, struct tide_view *view)
{
  const struct tide_profile *profile = view->profile;
  size_t n_frames = profile->image->n_frames;
  TIDE_CLEANUP_FREE uint32_t *site_of = tide_alloc_array(n_frames, sizeof *site_of);
  TIDE_CLEANUP_FREE uint32_t *order = trie_order(profile->image);
  b->stacks = tide_alloc_array(profile->n_sites, sizeof *b->stacks);
  for (size_t i = 0; i < profile->n_sites; i++)
    if (tide_view_has(view, i) && profile->sites[i].weight)
      site_of[profile->sites[i].stack] = (uint32_t)i + 1;
  for (size_t i = 0; i < n_frames; i++) {
    if (!site_of[order[i]])
      continue;
    const struct tide_profile_site *site = &profile->sites[site_of[order[i]] - 1];
    read_turns(b, view, site);
    add_stack(b, site->weight);
  }
}

static void add_to_node(struct tide_tree_node *node, int64_t weight)
{
  node->total += weight;
  node->moved += weight < 0 ? -(uint64_t)weight : (uint64_t)weight;
  node->n_stacks++;
}

static void add_to_group(struct builder *b, const struct step *step, int64_t weight)
{
  const struct tide_frame_name *at = &b->tree->names.frames[step->frame];
  if (!b->group_of[at->name]) {
    TIDE_GROW(b->groups, b->n_groups, b->cap_groups);
    b->groups[b->n_groups++] = (struct group){
        .node = {.frame = at->frame, .name = at->name, .has_one_line = step->has_one_line}};
    b->group_of[at->name] = b->n_groups;
  }
  struct tide_tree_node *node = &b->groups[b->group_of[at->name] - 1].node;
  add_to_node(node, weight);
  if (node->n_deep < step->n_deep)
    node->n_deep = step->n_deep;
  if (at->frame)
    node->has_one_line &= step->has_one_line && at->frame->line == node->frame->line;
}

static int compare_siblings(const void *left, const void *right, void *names)
{
  const struct tide_tree_node *a = &((const struct group *)left)->node;
  const struct tide_tree_node *b = &((const struct group *)right)->node;
  if (a->moved != b->moved)
    return a->moved < b->moved ? 1 : -1;
  if (a->total != b->total)
    return a->total < b->total ? 1 : -1;
  return tide_frame_names_compare(names, a->name, b->name);
}

static const struct step *step_of(const struct builder *b, uint32_t stack, uint32_t depth)
{
  const struct stack *s = &b->stacks[stack], *lender = &b->stacks[s->lender];
  uint32_t n_own = s->n_steps - s->n_lent;
  if (depth >= s->n_steps)
    return NULL;
  if (b->tree->inverted)
    return depth < n_own ? &b->steps[s->first_step + depth]
                         : &b->steps[lender->first_step + lender->n_steps - (s->n_steps - depth)];
  return depth < s->n_lent ? &b->steps[lender->first_step + depth]
                           : &b->steps[s->first_step + depth - s->n_lent];
}

// The stacks of a node in groups by their next step, the weightiest first; self gets the others.
static void group_stacks(struct builder *b, uint32_t node_idx)
{
  const struct range range = b->ranges[node_idx];
  b->n_groups = 0;
  for (uint32_t i = range.first; i < range.past; i++) {
    const struct step *step = step_of(b, b->order[i], range.depth);
    int64_t weight = b->stacks[b->order[i]].weight;
    if (step)
      add_to_group(b, step, weight);
    else
      b->tree->nodes[node_idx].self += weight;
  }
  if (b->n_groups > 1)
    qsort_r(b->groups, b->n_groups, sizeof *b->groups, compare_siblings, &b->tree->names);
}

// Puts the stacks of each group side by side, and forgets those that have ended.
static void share_out(struct builder *b, const struct range *range)
{
  uint32_t at = range->first, n = range->past - range->first;
  for (uint32_t g = 0; g < b->n_groups; g++) {
    b->group_of[b->groups[g].node.name] = g + 1;
    b->groups[g].past = at;
    at += b->groups[g].node.n_stacks;
  }
  memcpy(b->scratch, b->order + range->first, n * sizeof *b->order);
  for (uint32_t i = 0; i < n; i++) {
    const struct step *step = step_of(b, b->scratch[i], range->depth);
    if (!step)
      continue;
    uint32_t name = b->tree->names.frames[step->frame].name;
    b->order[b->groups[b->group_of[name] - 1].past++] = b->scratch[i];
  }
}

// Whether a walk under the limits may come to the g-th child of a node `depth` levels deep.
static bool is_worth_it(const struct builder *b, uint32_t g, size_t depth)
{
  const struct tide_tree_limits *limits = &b->limits;
  return b->groups[g].node.moved >= limits->min_moved &&
         (!limits->n_children || g < limits->n_children) &&
         (!limits->depth || depth < limits->depth);
}

static void add_children(struct builder *b, uint32_t node_idx)
{
  struct tide_tree *tree = b->tree;
  const struct range range = b->ranges[node_idx];
  group_stacks(b, node_idx);
  bool all_alike = b->n_groups == 1 && b->groups->node.n_stacks == range.past - range.first;
  if (!all_alike)
    share_out(b, &range);
  tree->nodes[node_idx].first_child = tree->n_nodes;
  tree->nodes[node_idx].n_children = b->n_groups;
  for (uint32_t g = 0, first = range.first; g < b->n_groups; g++) {
    struct tide_tree_node *node = &b->groups[g].node;
    node->parent = node_idx;
    b->group_of[node->name] = 0;
    TIDE_GROW(tree->nodes, tree->n_nodes, b->cap_nodes);
    TIDE_GROW(b->ranges, b->n_ranges, b->cap_ranges);
    if (is_worth_it(b, g, range.depth)) {
      TIDE_GROW(b->pending, b->n_pending, b->cap_pending);
      b->pending[b->n_pending++] = tree->n_nodes;
    }
    tree->nodes[tree->n_nodes++] = *node;
    b->ranges[b->n_ranges++] = (struct range){first, first + node->n_stacks, range.depth + 1};
    first += node->n_stacks;
  }
}

static void make_nodes(struct builder *b)
{
  struct tide_tree *tree = b->tree;
  b->order = tide_alloc_array(b->n_stacks, sizeof *b->order);
  b->scratch = tide_alloc_array(b->n_stacks, sizeof *b->scratch);
  b->group_of = tide_alloc_array(tree->names.n, sizeof *b->group_of);
  TIDE_GROW(tree->nodes, tree->n_nodes, b->cap_nodes);
  TIDE_GROW(b->ranges, b->n_ranges, b->cap_ranges);
  struct tide_tree_node *root = &tree->nodes[tree->n_nodes++];
  *root = (struct tide_tree_node){0};
  for (uint32_t i = 0; i < b->n_stacks; i++) {
    add_to_node(root, b->stacks[i].weight);
    b->order[i] = i;
  }
  b->ranges[b->n_ranges++] = (struct range){0, b->n_stacks, 0};
  add_children(b, 0);
  while (b->n_pending)
    add_children(b, b->pending[--b->n_pending]);
}

struct tide_tree_node tide_tree_root(const struct tide_view *view)
{
  struct tide_tree_node root = {0};
  for (size_t i = 0; i < view->profile->n_sites; i++)
    if (tide_view_has(view, i) && view->profile->sites[i].weight)
      add_to_node(&root, view->profile->sites[i].weight);
  return root;
}

struct tide_tree *tide_tree_new(struct tide_view *view, const struct tide_tree_options *options)
{
  struct tide_tree *tree = tide_alloc(sizeof *tree);
  struct builder b = {.tree = tree, .limits = options->limits};
  tree->inverted = options->inverted;
  tide_frame_names_init(&tree->names, view->naming, options->by_line);
  read_stacks(&b, view);
  make_nodes(&b);
  free(b.turns);
  free(b.last);
  free(b.steps);
  free(b.stacks);
  free(b.ranges);
  free(b.order);
  free(b.scratch);
  free(b.groups);
  free(b.group_of);
  free(b.pending);
  return tree;
}

void tide_tree_free(struct tide_tree *tree)
{
  if (!tree)
    return;
  tide_frame_names_done(&tree->names);
  free(tree->nodes);
  free(tree);
}
