// SPDX-License-Identifier: Apache-2.0
//
// An index over an array of something: hash -> position, at most three quarters full. The caller
// owns the array and says whether a position holds what it looks for. Zeroed memory is an empty
// table.
#pragma once
#include "base/alloc.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct tide_table_slot {
  uint32_t hash;
  uint32_t id; // position + 1; 0: free
};

struct tide_table {
  struct tide_table_slot *slots;
  size_t n, cap; // cap is 0 or a power of two
};

static inline void tide_table_done(struct tide_table *table)
{
  free(table->slots);
  *table = (struct tide_table){0};
}

static inline uint32_t tide_table_mix(uint64_t a, uint64_t b)
{
  uint64_t h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ull;
  return (uint32_t)(h >> 32);
}

static inline void tide_table_grow(struct tide_table *table)
{
  if (table->n < table->cap / 4 * 3)
    return;
  struct tide_table bigger = {.n = table->n, .cap = table->cap ? table->cap * 2 : 256};
  bigger.slots = tide_alloc_array(bigger.cap, sizeof *bigger.slots);
  for (size_t i = 0; i < table->cap; i++) {
    size_t at = table->slots[i].hash & (bigger.cap - 1);
    if (!table->slots[i].id)
      continue;
    while (bigger.slots[at].id)
      at = (at + 1) & (bigger.cap - 1);
    bigger.slots[at] = table->slots[i];
  }
  free(table->slots);
  *table = bigger;
}

typedef bool tide_table_same(const void *context, const void *key, uint32_t position);

// The position of key, or of `next` (the caller's next free position), which then belongs to it and
// is for the caller to fill.
static inline uint32_t tide_table_put(struct tide_table *table, uint32_t hash,
                                      tide_table_same *same, const void *context, const void *key,
                                      uint32_t next)
{
  tide_table_grow(table);
  size_t at = hash & (table->cap - 1);
  for (; table->slots[at].id; at = (at + 1) & (table->cap - 1))
    if (table->slots[at].hash == hash && same(context, key, table->slots[at].id - 1))
      return table->slots[at].id - 1;
  table->slots[at] = (struct tide_table_slot){hash, next + 1};
  table->n++;
  return next;
}

// The position of key, UINT32_MAX when it is not there.
static inline uint32_t tide_table_index(const struct tide_table *table, uint32_t hash,
                                        tide_table_same *same, const void *context, const void *key)
{
  if (!table->cap)
    return UINT32_MAX;
  size_t at = hash & (table->cap - 1);
  for (; table->slots[at].id; at = (at + 1) & (table->cap - 1))
    if (table->slots[at].hash == hash && same(context, key, table->slots[at].id - 1))
      return table->slots[at].id - 1;
  return UINT32_MAX;
}
