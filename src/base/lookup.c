// SPDX-License-Identifier: Apache-2.0
//
// Two tables of open addressing.
#include "base/lookup.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

// ---- numbers for byte strings ----
//
// Open addressing over keys that lie in one buffer.

enum { SLOTS_FIRST = 256 };

void tide_intern_done(struct tide_intern *intern)
{
  tide_buf_done(&intern->bytes);
  free(intern->ends);
  free(intern->slots);
  *intern = (struct tide_intern){0};
}

const void *tide_intern_get(const struct tide_intern *intern, uint32_t id, size_t *ret_n_bytes)
{
  size_t start = id ? intern->ends[id - 1] : 0;
  *ret_n_bytes = intern->ends[id] - start;
  return intern->bytes.data ? intern->bytes.data + start : (const void *)"";
}

static uint64_t hash_key(const void *key, size_t n)
{
  const uint8_t *p = key;
  uint64_t h = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < n; i++)
    h = (h ^ p[i]) * 0x100000001b3ull;
  return h ^ h >> 29;
}

// Where a key is, or the free place where it belongs.
static uint32_t *find_key(const struct tide_intern *intern, const void *key, size_t n)
{
  for (size_t slot = (size_t)hash_key(key, n);; slot++) {
    uint32_t *held = &intern->slots[slot & (intern->n_slots - 1)];
    if (!*held)
      return held;
    size_t held_n;
    const void *held_key = tide_intern_get(intern, *held - 1, &held_n);
    if (held_n == n && memcmp(held_key, key, n) == 0)
      return held;
  }
}

static void grow_intern(struct tide_intern *intern)
{
  if (intern->n < intern->n_slots / 4 * 3)
    return;
  free(intern->slots);
  intern->n_slots = intern->n_slots ? intern->n_slots * 2 : SLOTS_FIRST;
  intern->slots = tide_alloc_array(intern->n_slots, sizeof *intern->slots);
  for (size_t i = 0; i < intern->n; i++) {
    size_t n;
    const void *key = tide_intern_get(intern, (uint32_t)i, &n);
    *find_key(intern, key, n) = (uint32_t)i + 1;
  }
}

uint32_t tide_intern_add(struct tide_intern *intern, const void *key, size_t n_bytes)
{
  grow_intern(intern);
  uint32_t *held = find_key(intern, n_bytes ? key : "", n_bytes);
  if (!*held) {
    if (n_bytes)
      tide_buf_append(&intern->bytes, key, n_bytes);
    TIDE_GROW(intern->ends, intern->n, intern->cap);
    intern->ends[intern->n++] = intern->bytes.n;
    *held = (uint32_t)intern->n;
  }
  return *held - 1;
}

uint32_t tide_intern_text(struct tide_intern *intern, const char *text)
{
  return tide_intern_add(intern, text, strlen(text));
}

// ---- rows by hash ----
//
// Open addressing with half the hash beside each id, so that growing asks nobody and few rows are
// compared in vain.

static uint32_t fold_hash(uint64_t hash)
{
  return (uint32_t)(hash ^ hash >> 32);
}

uint32_t tide_id_index_find(const struct tide_id_index *index, uint64_t hash, tide_id_same *same,
                            const void *table, const void *key)
{
  if (!index->n_slots)
    return UINT32_MAX;
  for (size_t at = fold_hash(hash);; at++) {
    const struct tide_id_slot *slot = &index->slots[at & (index->n_slots - 1)];
    if (!slot->id)
      return UINT32_MAX;
    if (slot->hash == fold_hash(hash) && same(table, slot->id - 1, key))
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
  put_slot(index->slots, index->n_slots, (struct tide_id_slot){fold_hash(hash), id + 1});
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
