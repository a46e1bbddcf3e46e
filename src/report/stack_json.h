// SPDX-License-Identifier: Apache-2.0
//
// Stacks as JSON, nothing twice: names once, frames by the number of their names, stacks as nodes
// of a trie by the number of their frame and of the node that called it. A million stacks share
// most of what they are made of, and written out they would be a hundred times as long.
//
// Use: init; need() each stack that will be referred to; number(); then numbers are known and
// write() writes the tables.
#pragma once
#include "base/json.h"
#include "base/lookup.h"
#include "view/naming.h"

// ---- names ----
//
// Names as JSON, each once: who refers to one does so by its number in a table. Number 0 of every
// table is null: not known.

struct tide_name_table { // all zero is an empty one
  struct tide_intern texts;
  struct tide_intern pointers; // of texts that were asked for: most are, again and again
  uint32_t *numbers;           // per pointer
  size_t cap_numbers;
};

struct tide_name_json {
  struct tide_naming *naming; // not owned; the names must outlive the tables
  struct tide_name_table functions, files, modules;
  struct tide_buf scratch;
};

void tide_name_json_init(struct tide_name_json *names, struct tide_naming *naming);
void tide_name_json_done(struct tide_name_json *names);

uint32_t tide_name_json_function(struct tide_name_json *names, const struct tide_named_frame *of);
uint32_t tide_name_json_file(struct tide_name_json *names, const struct tide_named_frame *of);
uint32_t tide_name_json_module(struct tide_name_json *names, const struct tide_named_frame *of);

// The keys functions, files and modules: all that were asked for by now.
void tide_name_json_write(const struct tide_name_json *names, struct tide_json *json);

// ---- stacks ----

struct tide_stack_json {
  const struct tide_image *image; // not owned
  struct tide_naming *naming;     // not owned
  uint64_t *of_node;              // node -> number of its stack; before number() 1: needed
  struct tide_name_json names;
  uint64_t *of_address; // address of the naming -> number of the first of its frames; 0: none yet
  size_t n_addresses;
  uint32_t *nodes; // one of each address that has numbers, by rising number
  size_t n_nodes, cap_nodes;
  uint64_t n_frames, n_stacks; // numbers given, with 0
};

// Image and naming must outlive it.
void tide_stack_json_init(struct tide_stack_json *stacks, const struct tide_image *image,
                          struct tide_naming *naming);
void tide_stack_json_done(struct tide_stack_json *stacks);

void tide_stack_json_need(struct tide_stack_json *stacks, uint32_t stack);
void tide_stack_json_number(struct tide_stack_json *stacks);

// The number of a stack; 0: it has no frames.
uint64_t tide_stack_json_stack(const struct tide_stack_json *stacks, uint32_t stack);

// The number of the index-th frame of a node, innermost first.
uint64_t tide_stack_json_frame(const struct tide_stack_json *stacks, uint32_t node, size_t index);

// The keys functions, files, modules, frames and stacks.
void tide_stack_json_write(struct tide_stack_json *stacks, struct tide_json *json);
