// SPDX-License-Identifier: Apache-2.0
//
// A line per node, a parent before its children. What is left out is a line "(rest)" of its parent,
// all of it self, so that the column of selves adds up to the whole tree.
#include "report/tree_writers.h"

#include "base/alloc.h"
#include "report/markup.h"
#include "report/profile_json.h"
#include "view/terms.h"

#include <inttypes.h>
#include <stdlib.h>

struct lines {
  struct tide_sink *sink;
  const struct tide_naming *naming;
  const struct tide_profile *profile;
  uint64_t *at; // per depth: number of the line last written there
  size_t n_at, cap_at;
  uint64_t n;
};

static void begin_line(struct lines *l, size_t depth)
{
  while (l->n_at <= depth) {
    TIDE_GROW(l->at, l->n_at, l->cap_at);
    l->at[l->n_at++] = 0;
  }
  l->at[depth] = ++l->n;
  tide_sink_printf(l->sink, "%" PRIu64 ",%" PRIu64 ",%zu,", l->n, l->at[depth - 1], depth);
}

static void end_line(const struct lines *l)
{
  tide_exactness_csv(l->sink, l->profile);
  tide_sink_text(l->sink, "\n");
}

static void write_frame(const struct lines *l, const struct tide_tree_node *node)
{
  const struct tide_named_frame *frame = node->frame;
  bool is_cut = frame && frame->flags & TIDE_FRAME_CUT;
  const char *name = !frame ? tide_term(TIDE_TERM_STACK_LOST) : is_cut ? "(cut)" : frame->function;
  tide_csv_text(l->sink, name ? name : "");
  tide_sink_text(l->sink, ",");
  tide_csv_text(l->sink, frame && frame->file ? frame->file : "");
  tide_sink_text(l->sink, ",");
  if (frame && frame->line && node->has_one_line)
    tide_sink_printf(l->sink, "%" PRIu32, frame->line);
  tide_sink_text(l->sink, ",");
  tide_csv_text(l->sink, frame && !is_cut ? tide_naming_module(l->naming, frame) : "");
  tide_sink_text(l->sink, ",");
  if (frame && !frame->function && frame->pc)
    tide_sink_printf(l->sink, "0x%" PRIx64, tide_naming_elf_address(l->naming, frame));
}

static void write_node(struct lines *l, const struct tide_tree_walk *walk)
{
  const struct tide_tree_node *node = walk->node;
  begin_line(l, walk->depth);
  write_frame(l, node);
  tide_sink_printf(l->sink, ",%" PRId64 ",%" PRId64 ",%" PRIu32 ",%" PRIu32 ",", node->total,
                   node->self, node->n_stacks, node->n_deep);
  end_line(l);
}

static void write_rest(struct lines *l, size_t depth, const char *name, int64_t total,
                       uint32_t n_stacks)
{
  begin_line(l, depth);
  tide_sink_printf(l->sink, "%s,,,,,%" PRId64 ",%" PRId64 ",%" PRIu32 ",,", name, total, total,
                   n_stacks);
  end_line(l);
}

static uint32_t stacks_of_root(const struct tide_tree *tree)
{
  const struct tide_tree_node *root = &tree->nodes[0];
  uint32_t n = root->n_stacks;
  for (uint32_t i = 0; i < root->n_children; i++)
    n -= tree->nodes[root->first_child + i].n_stacks;
  return n;
}

void tide_tree_csv_write(struct tide_sink *sink, const struct tide_tree_writing *writing)
{
  struct lines l = {
      .sink = sink, .naming = writing->view->naming, .profile = writing->view->profile};
  struct tide_tree_walk walk;
  const struct tide_tree_node *root = &writing->tree->nodes[0];
  tide_sink_text(sink, "node,parent,depth,function,file,line,module,address,total,self,stacks,"
                       "deep,exactness\n");
  tide_tree_walk_init(&walk, writing->tree, &writing->limits);
  for (;;) {
    enum tide_tree_step step = tide_tree_walk_next(&walk);
    if (step == TIDE_TREE_END)
      break;
    if (step == TIDE_TREE_ENTER && walk.depth)
      write_node(&l, &walk);
    if (step == TIDE_TREE_REST)
      write_rest(&l, walk.depth + 1, "(rest)", walk.rest_total, walk.rest_stacks);
  }
  tide_tree_walk_done(&walk);
  if (root->self)
    write_rest(&l, 1, "(hidden)", root->self, stacks_of_root(writing->tree));
  free(l.at);
}
