// SPDX-License-Identifier: Apache-2.0
//
// Code of an archive as a linker would put it into a program: sections of its members (units),
// which bytes of them the linker writes, what they call. Archives are bytes from outside: what
// cannot be read is left out.
#pragma once
#include "attach/relocation.h"

struct tide_archived_function {
  char *name;         // owned
  uint64_t at, bytes; // in the unit
};

// A call or a jump to a function of some unit, or within this one.
struct tide_archived_call {
  char *name; // owned; NULL: within this unit
  uint64_t at;
  uint64_t to; // in this unit, without a name
  int64_t addend;
  uint32_t type;
};

struct tide_archived {
  uint8_t *bytes, *is_fixed; // owned, n of each: a linker changes what is not fixed
  size_t n, n_fixed;
  size_t anchor, anchor_bytes; // the longest run that is fixed
  struct tide_archived_function *functions;
  size_t n_functions, functions_cap;
  struct tide_archived_call *calls;
  size_t n_calls, calls_cap;
  bool is_placed;
  uint64_t at; // in the program, when it is placed
};

struct tide_archive {
  const struct tide_relocations *machine;
  struct tide_archived *all;
  size_t n, cap;
};

// Those for `machine` that have a function whose name is wanted. False: it is no such archive.
bool tide_archive_read(const char *path, const struct tide_relocations *machine,
                       bool (*is_wanted)(const char *name), struct tide_archive *ret_archive);
void tide_archive_done(struct tide_archive *archive);
