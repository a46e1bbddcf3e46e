// SPDX-License-Identifier: Apache-2.0
//
// Finds the rows of a growing table by what they hold: ids by hash. The rows stay the caller's, who
// compares them and keeps the hashes' quality; several rows may share a hash.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
