// SPDX-License-Identifier: Apache-2.0
//
// Demangled names, each made once. A program of templates or generics meets the same mangled name
// at thousands of addresses, and demangling is the dearest step of a look-up.
#pragma once
#include <stddef.h>

struct tide_name {
  const char *mangled; // not owned: lies in a mapped string table that outlives the names
  char *demangled;     // owned; NULL marks a free slot
};

struct tide_names { // all zero is an empty table
  struct tide_name *slots;
  size_t n, cap; // cap is 0 or a power of two
};

void tide_names_done(struct tide_names *names);
// The demangled form, valid until tide_names_done(). NULL gives NULL.
const char *tide_names_get(struct tide_names *names, const char *mangled);
