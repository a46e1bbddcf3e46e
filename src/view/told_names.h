// SPDX-License-Identifier: Apache-2.0
//
// The names a capture carries, readable: what another tool wrote down mangled is demangled, once
// per text.
#pragma once
#include "base/lookup.h"
#include "model/model.h"

struct tide_told_name {
  uint32_t offset; // of the text as it is stored
  char *text;      // owned; NULL: it is fine as it is
};

struct tide_told_names { // all zero: none yet
  struct tide_told_name *items;
  size_t n, cap;
  struct tide_id_index by_offset;
};

// The function's name at an offset of the stored text; NULL for 0. Lives as long as both.
const char *tide_told_names_function(struct tide_told_names *told,
                                     const struct tide_stored_names *names, uint32_t offset);
void tide_told_names_done(struct tide_told_names *told);
