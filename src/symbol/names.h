// SPDX-License-Identifier: Apache-2.0
//
// Demangled names, each made once. A program of templates or generics meets the same mangled name
// at thousands of addresses, and demangling is the dearest step of a look-up.
#pragma once
#include <stddef.h>

struct tide_name {
  const char *mangled; // not owned: lies in a mapped file that outlives the names, or is demangled
  char *demangled;     // owned; NULL marks a free slot
};

struct tide_names { // all zero is an empty table
  struct tide_name *slots;
  size_t n, cap; // cap is 0 or a power of two
};

void tide_names_done(struct tide_names *names);
// The demangled form, valid until tide_names_done(). NULL gives NULL.
const char *tide_names_get(struct tide_names *names, const char *mangled);
// Keeps a text that was made elsewhere, and gives the one kept before if there was an equal one.
// Takes over the text.
const char *tide_names_keep(struct tide_names *names, char *text);
