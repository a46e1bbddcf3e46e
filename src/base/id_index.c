// SPDX-License-Identifier: Apache-2.0
//
// Open addressing with half the hash beside each id, so that growing asks nobody and few rows are
// compared in vain.
#include "base/id_index.h"

#include "base/alloc.h"

#include <stdlib.h>

static uint32_t fold(uint64_t hash)
{
  return (uint32_t)(hash ^ hash >> 32);
}

uint32_t tide_id_index_find(const struct tide_id_index *index, uint64_t hash, tide_id_same *same,
                            const void *table, const void *key)
{
  if (!index->n_slots)
    return UINT32_MAX;
  for (size_t at = fold(hash);; at++) {
    const struct tide_id_slot *slot = &index->slots[at & (index->n_slots - 1)];
    if (!slot->id)
      return UINT32_MAX;
    if (slot->hash == fold(hash) && same(table, slot->id - 1, key))
      return slot->id - 1;
  }
}

static void put_slot(struct tide_id_slot *slots, size_t n_slots, struct tide_id_slot item)
{
  size_t at = item.hash & (n_slots - 1);
  while (slots[at].id)
    at = (at + 1) & (n_slots - 1);
  slots[at] = item;
}

void tide_id_index_add(struct tide_id_index *index, uint64_t hash, uint32_t id)
{
  if (index->n >= index->n_slots / 4 * 3) {
    size_t n_slots = index->n_slots ? index->n_slots * 2 : 256;
    struct tide_id_slot *slots = tide_alloc_array(n_slots, sizeof *slots);
    for (size_t i = 0; i < index->n_slots; i++)
      if (index->slots[i].id)
        put_slot(slots, n_slots, index->slots[i]);
    free(index->slots);
    index->slots = slots;
    index->n_slots = n_slots;
  }
  put_slot(index->slots, index->n_slots, (struct tide_id_slot){fold(hash), id + 1});
  index->n++;
}

void tide_id_index_done(struct tide_id_index *index)
{
  free(index->slots);
  *index = (struct tide_id_index){0};
}

uint64_t tide_hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
  const uint8_t *p = bytes;
  for (size_t i = 0; i < n; i++)
    hash = tide_hash_word(hash, p[i] + 1u);
  return hash;
}
