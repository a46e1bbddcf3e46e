// SPDX-License-Identifier: Apache-2.0
//
// Schema tidemark-tree-2: nodes inside nodes. Their names come behind them, once each: a function
// is in many nodes.
#include "report/tree_writers.h"

#include "base/json.h"
#include "report/profile_json.h"
#include "report/site_json.h"
#include "report/stack_json.h"

static void write_frame(struct tide_json *json, struct tide_name_json *names,
                        const struct tide_tree_node *node)
{
  const struct tide_named_frame *frame = node->frame;
  tide_json_put_u64(json, "function", frame ? tide_name_json_function(names, frame) : 0);
  tide_json_put_u64(json, "file", frame ? tide_name_json_file(names, frame) : 0);
  tide_json_put_u64(json, "module", frame ? tide_name_json_module(names, frame) : 0);
  if (frame && frame->line && node->has_one_line)
    tide_json_put_u64(json, "line", frame->line);
  if (frame && !frame->function && frame->pc) {
    tide_json_key(json, "address");
    tide_json_hex(json, tide_naming_elf_address(names->naming, frame));
  }
  if (!frame)
    tide_json_put_bool(json, "lost", true);
  else if (frame->flags & TIDE_FRAME_CUT)
    tide_json_put_bool(json, "cut", true);
  if (frame && tide_layer_is_folded(frame->layer))
    tide_json_put_bool(json, "folded", true);
  if (node->n_deep != 1)
    tide_json_put_u64(json, "deep", node->n_deep);
}

// Of these a node has only what differs.
static void write_defaults(struct tide_json *json)
{
  tide_json_key(json, "node_defaults");
  tide_json_open_object(json);
  tide_json_put_u64(json, "line", 0);
  tide_json_put_bool(json, "folded", false);
  tide_json_put_u64(json, "deep", 1);
  tide_json_put_u64(json, "self", 0);
  tide_json_key(json, "children");
  tide_json_open_array(json);
  tide_json_close_array(json);
  tide_json_close_object(json);
}

static void open_node(struct tide_json *json, struct tide_name_json *names,
                      const struct tide_tree_walk *walk)
{
  const struct tide_tree_node *node = walk->node;
  tide_json_open_object(json);
  if (walk->depth)
    write_frame(json, names, node);
  tide_json_put_i64(json, "total", node->total);
  if (node->self)
    tide_json_put_i64(json, "self", node->self);
  tide_json_put_u64(json, "stacks", node->n_stacks);
  if (walk->n_shown) {
    tide_json_key(json, "children");
    tide_json_open_array(json);
  }
}

static void close_node(struct tide_json *json, const struct tide_tree_walk *walk)
{
  if (walk->n_shown)
    tide_json_close_array(json);
  if (walk->rest_n) {
    tide_json_key(json, "more");
    tide_json_open_object(json);
    tide_json_put_u64(json, "nodes", walk->rest_n);
    tide_json_put_i64(json, "total", walk->rest_total);
    tide_json_put_u64(json, "stacks", walk->rest_stacks);
    tide_json_close_object(json);
  }
  tide_json_close_object(json);
}

static void write_nodes(struct tide_json *json, struct tide_name_json *names,
                        const struct tide_tree_writing *writing)
{
  struct tide_tree_limits limits = writing->limits;
  struct tide_tree_walk walk;
  if (!limits.depth || limits.depth > TIDE_TREE_JSON_DEPTH_MAX)
    limits.depth = TIDE_TREE_JSON_DEPTH_MAX;
  tide_json_key(json, "tree");
  tide_tree_walk_init(&walk, writing->tree, &limits);
  for (;;) {
    enum tide_tree_step step = tide_tree_walk_next(&walk);
    if (step == TIDE_TREE_END)
      break;
    if (step == TIDE_TREE_ENTER)
      open_node(json, names, &walk);
    if (step == TIDE_TREE_LEAVE)
      close_node(json, &walk);
  }
  tide_tree_walk_done(&walk);
}

void tide_tree_json_write(struct tide_sink *sink, const struct tide_tree_writing *writing)
{
  const struct tide_profile *profile = writing->view->profile;
  struct tide_json json;
  struct tide_name_json names;
  tide_name_json_init(&names, writing->view->naming);
  tide_json_init(&json, sink);
  json.break_depth = 1;
  tide_json_open_object(&json);
  tide_json_put_text(&json, "schema", "tidemark-tree-2");
  tide_json_key(&json, "capture");
  tide_json_open_object(&json);
  tide_capture_json_facts(&json, profile->capture, writing->file,
                          tide_profile_is_complete(profile));
  tide_json_close_object(&json);
  tide_json_key(&json, "image");
  tide_json_open_object(&json);
  tide_json_put_u64(&json, "index", profile->image_idx);
  tide_image_json_identity(&json, profile->image);
  tide_json_close_object(&json);
  tide_exactness_json(&json, profile->image);
  tide_question_json(&json, &profile->question);
  tide_json_put_bool(&json, "inverted", writing->tree->inverted);
  tide_json_put_bool(&json, "by_line", writing->tree->names.by_line);
  tide_json_put_text(&json, "callers", writing->callers);
  tide_json_put_text(&json, "callees", writing->callees);
  tide_json_put_i64(&json, "whole", writing->view->whole);
  tide_json_put_i64(&json, "wanted", writing->view->wanted);
  if (writing->suppressions)
    tide_suppressions_json(&json, writing->suppressions);
  write_defaults(&json);
  json.is_tight = true;
  write_nodes(&json, &names, writing);
  json.is_tight = false;
  json.break_depth = 2; // a name to a line
  tide_name_json_write(&names, &json);
  tide_name_json_done(&names);
  tide_json_close_object(&json);
  tide_json_done(&json);
}
