// SPDX-License-Identifier: Apache-2.0
//
// Finding things again: byte strings by number, rows of a table by hash, places in what is sorted.
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- numbers for byte strings ----
//
// Numbers for distinct byte strings, from 0 up in the order in which they were first met: texts,
// lists of ids, or structs without padding. For writers of tables in which things refer to each
// other by number.

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

// ---- rows by hash ----
//
// Finds the rows of a growing table by what they hold: ids by hash. The rows stay the caller's, who
// compares them and keeps the hashes' quality; several rows may share a hash.

struct tide_id_slot {
  uint32_t hash; // folded
  uint32_t id;   // + 1; 0: empty
};

struct tide_id_index { // all zero: empty
  struct tide_id_slot *slots;
  size_t n_slots, n; // n_slots is a power of two, at most three quarters of them taken
};

// Whether row id of the table is the one the key says.
typedef bool tide_id_same(const void *table, uint32_t id, const void *key);

// The id of the row that is the key's, or UINT32_MAX.
uint32_t tide_id_index_find(const struct tide_id_index *index, uint64_t hash, tide_id_same *same,
                            const void *table, const void *key);
// id must not be there yet.
void tide_id_index_add(struct tide_id_index *index, uint64_t hash, uint32_t id);
void tide_id_index_done(struct tide_id_index *index);

// A hash made step by step: from 0, word by word or byte by byte.
static inline uint64_t tide_hash_word(uint64_t hash, uint64_t word)
{
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  return hash ^ hash >> 29;
}
uint64_t tide_hash_bytes(uint64_t hash, const void *bytes, size_t n);

// ---- sorted arrays ----

// Index of the first of n items, sorted by a member, whose member is not below key, or above it; n:
// there is none.
#define TIDE_FIRST_NOT_BELOW(items, n, member, key) TIDE_FIRST_(items, n, member, <, key)
#define TIDE_FIRST_ABOVE(items, n, member, key) TIDE_FIRST_(items, n, member, <=, key)
#define TIDE_FIRST_(items, n, member, is_before, key)                                              \
  ({                                                                                               \
    size_t low_ = 0, high_ = (n);                                                                  \
    while (low_ < high_) {                                                                         \
      size_t middle_ = low_ + (high_ - low_) / 2;                                                  \
      if ((items)[middle_].member is_before(key))                                                  \
        low_ = middle_ + 1;                                                                        \
      else                                                                                         \
        high_ = middle_;                                                                           \
    }                                                                                              \
    low_;                                                                                          \
  })
