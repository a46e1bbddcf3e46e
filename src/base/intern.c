// SPDX-License-Identifier: Apache-2.0
//
// Open addressing over keys that lie in one buffer.
#include "base/intern.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

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

static uint64_t hash(const void *key, size_t n)
{
  const uint8_t *p = key;
  uint64_t h = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < n; i++)
    h = (h ^ p[i]) * 0x100000001b3ull;
  return h ^ h >> 29;
}

// Where a key is, or the free place where it belongs.
static uint32_t *find(const struct tide_intern *intern, const void *key, size_t n)
{
  for (size_t slot = (size_t)hash(key, n);; slot++) {
    uint32_t *held = &intern->slots[slot & (intern->n_slots - 1)];
    if (!*held)
      return held;
    size_t held_n;
    const void *held_key = tide_intern_get(intern, *held - 1, &held_n);
    if (held_n == n && memcmp(held_key, key, n) == 0)
      return held;
  }
}

static void grow(struct tide_intern *intern)
{
  if (intern->n < intern->n_slots / 4 * 3)
    return;
  free(intern->slots);
  intern->n_slots = intern->n_slots ? intern->n_slots * 2 : SLOTS_FIRST;
  intern->slots = tide_alloc_array(intern->n_slots, sizeof *intern->slots);
  for (size_t i = 0; i < intern->n; i++) {
    size_t n;
    const void *key = tide_intern_get(intern, (uint32_t)i, &n);
    *find(intern, key, n) = (uint32_t)i + 1;
  }
}

uint32_t tide_intern_add(struct tide_intern *intern, const void *key, size_t n_bytes)
{
  grow(intern);
  uint32_t *held = find(intern, n_bytes ? key : "", n_bytes);
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
