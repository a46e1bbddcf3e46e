// SPDX-License-Identifier: Apache-2.0
//
// Numbers for distinct byte strings, from 0 up in the order in which they were first met: texts,
// lists of ids, or structs without padding. For writers of tables in which things refer to each
// other by number.
#pragma once
#include "base/buf.h"

struct tide_intern {
  struct tide_buf bytes; // of all keys, one after another
  size_t *ends;          // per key, in bytes
  size_t n, cap;
  uint32_t *slots; // hash -> key + 1; 0: free
  size_t n_slots;  // a power of two, at most three quarters of them taken
};

void tide_intern_done(struct tide_intern *intern); // all zero is fine

// The number of a key; it is n - 1 afterwards if the key is new. Keys may be empty.
uint32_t tide_intern_add(struct tide_intern *intern, const void *key, size_t n_bytes);
uint32_t tide_intern_text(struct tide_intern *intern, const char *text); // without its NUL

// A key by its number; valid until the next one is added.
const void *tide_intern_get(const struct tide_intern *intern, uint32_t id, size_t *ret_n_bytes);
