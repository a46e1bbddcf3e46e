// SPDX-License-Identifier: Apache-2.0
//
// The stacks of the page's data: texts, modules, frames and the tree they form, each distinct one
// once. Stacks of different addresses that read the same are one path of the tree.
#pragma once
#include "base/lookup.h"
#include "page/page_column.h"
#include "view/naming.h"

struct tide_page_names {
  const struct tide_image *image; // not owned
  struct tide_naming *naming;     // not owned
  struct tide_intern texts, modules, frames, nodes;
  uint32_t *of_module; // module of the image -> page's + 1; 0: not met
  uint32_t *of_node;   // node of the image -> page's + 1; 0: not met
  uint32_t *crates;    // text of a function -> text of its crate + 1; 0: not asked
  size_t n_crates;
  size_t *chains; // address of the naming -> where its frames begin in ids, + 1; 0: not met
  size_t n_chains;
  uint32_t *ids; // frames of the page, chain by chain, innermost first
  size_t n_ids, cap_ids;
  uint32_t *way; // nodes on the way to a known one
  size_t cap_way;
  struct tide_buf scratch;
};

void tide_page_names_init(struct tide_page_names *names, const struct tide_image *image,
                          struct tide_naming *naming);
void tide_page_names_done(struct tide_page_names *names);

// The page's node for a node of the image.
uint32_t tide_page_names_node(struct tide_page_names *names, uint32_t node);
// The page's node that stands for stacks gathered because of a limit; of the heap or of pages, and
// of a place unless that is NULL.
uint32_t tide_page_names_other(struct tide_page_names *names, bool of_pages,
                               const struct tide_named_frame *place);

// Writes the columns, which must be empty; nothing may be added any more.
void tide_page_names_write(struct tide_page_names *names, struct tide_page_column *columns);
