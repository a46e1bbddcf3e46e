// SPDX-License-Identifier: Apache-2.0
//
// Names as JSON, each once: who refers to one does so by its number in a table. Number 0 of every
// table is null: not known.
#pragma once
#include "base/json.h"
#include "base/lookup.h"
#include "view/naming.h"

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
