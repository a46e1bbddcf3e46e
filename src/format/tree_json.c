// SPDX-License-Identifier: Apache-2.0
//
// Schema tidemark-tree-1: nodes inside nodes.
#include "format/tree_writers.h"

#include "base/json.h"
#include "format/groups_json.h"
#include "format/image_json.h"

static void write_frame(struct tide_json *json, const struct tide_naming *naming,
                        const struct tide_tree_node *node)
{
  const struct tide_named_frame *frame = node->frame;
  tide_json_put_text(json, "function", frame ? frame->function : NULL);
  tide_json_put_text(json, "file", frame ? frame->file : NULL);
  tide_json_put_u64(json, "line", frame && node->has_one_line ? frame->line : 0);
  tide_json_put_text(json, "module", frame ? tide_naming_module_path(naming, frame) : "");
  if (frame && !frame->function && frame->pc) {
    tide_json_key(json, "address");
    tide_json_hex(json, tide_naming_elf_address(naming, frame));
  }
  if (!frame)
    tide_json_put_bool(json, "lost", true);
  else if (frame->flags & TIDE_FRAME_CUT)
    tide_json_put_bool(json, "cut", true);
  tide_json_put_bool(json, "folded", frame && tide_layer_is_folded(frame->layer));
  tide_json_put_u64(json, "deep", node->n_deep);
}

static void open_node(struct tide_json *json, const struct tide_naming *naming,
                      const struct tide_tree_walk *walk)
{
  const struct tide_tree_node *node = walk->node;
  tide_json_open_object(json);
  if (walk->depth)
    write_frame(json, naming, node);
  tide_json_put_i64(json, "total", node->total);
  tide_json_put_i64(json, "self", node->self);
  tide_json_put_u64(json, "stacks", node->n_stacks);
  tide_json_key(json, "children");
  tide_json_open_array(json);
}

static void close_node(struct tide_json *json, const struct tide_tree_walk *walk)
{
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

static void write_nodes(struct tide_json *json, const struct tide_tree_writing *writing)
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
      open_node(json, writing->view->naming, &walk);
    if (step == TIDE_TREE_LEAVE)
      close_node(json, &walk);
  }
  tide_tree_walk_done(&walk);
}

void tide_tree_json_write(struct tide_sink *sink, const struct tide_tree_writing *writing)
{
  const struct tide_profile *profile = writing->view->profile;
  struct tide_json json;
  tide_json_init(&json, sink);
  json.break_depth = 1;
  tide_json_open_object(&json);
  tide_json_put_text(&json, "schema", "tidemark-tree-1");
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
  tide_question_json(&json, &profile->question);
  tide_json_put_bool(&json, "inverted", writing->tree->inverted);
  tide_json_put_bool(&json, "by_line", writing->tree->names.by_line);
  tide_json_put_text(&json, "callers", writing->callers);
  tide_json_put_text(&json, "callees", writing->callees);
  tide_json_put_i64(&json, "whole", writing->view->whole);
  tide_json_put_i64(&json, "wanted", writing->view->wanted);
  if (writing->suppressions)
    tide_suppressions_json(&json, writing->suppressions);
  write_nodes(&json, writing);
  tide_json_close_object(&json);
  tide_json_done(&json);
}
