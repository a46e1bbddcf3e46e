// SPDX-License-Identifier: Apache-2.0
//
// A tree of stacks written down: as text, as Markdown around the same text, as nested JSON, and as
// CSV with a line per node. What the limits leave out is always told with its weight, so that every
// node is the sum of what stands below it.
#pragma once
#include "report/screen.h"
#include "view/suppressions.h"
#include "view/tree.h"

enum { TIDE_TREE_JSON_DEPTH_MAX = 256 }; // two levels of JSON each; readers have limits

struct tide_tree_writing {
  struct tide_view *view; // what the tree was made from
  const struct tide_tree *tree;
  struct tide_tree_limits limits;
  bool default_limits;                          // the user gave none
  bool is_table;                                // of the text the table alone
  const char *callers, *callees;                // patterns the view is seen from; NULL: none
  const char *file;                             // path of the capture; NULL: not known
  const struct tide_suppressions *suppressions; // applied to the view; NULL: none
};

void tide_tree_text_write(const struct tide_screen *screen,
                          const struct tide_tree_writing *writing);
void tide_tree_md_write(const struct tide_screen *screen, const struct tide_tree_writing *writing);
void tide_tree_csv_write(struct tide_sink *sink, const struct tide_tree_writing *writing);
void tide_tree_json_write(struct tide_sink *sink, const struct tide_tree_writing *writing);
