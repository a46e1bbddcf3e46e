// SPDX-License-Identifier: Apache-2.0
//
// A row per text that was asked for.
#include "view/told_names.h"

#include "base/alloc.h"
#include "model/stored_names.h"
#include "symbol/symbol.h"

#include <stdlib.h>

static bool same_offset(const void *table, uint32_t id, const void *key)
{
  const struct tide_told_name *items = table;
  const uint32_t *offset = key;
  return items[id].offset == *offset;
}

const char *tide_told_names_function(struct tide_told_names *told,
                                     const struct tide_stored_names *names, uint32_t offset)
{
  const char *stored = tide_stored_text(names, offset);
  if (!stored)
    return NULL;
  uint64_t hash = tide_hash_word(0, offset);
  uint32_t id = tide_id_index_find(&told->by_offset, hash, same_offset, told->items, &offset);
  if (id == UINT32_MAX) {
    id = (uint32_t)told->n;
    TIDE_GROW(told->items, told->n, told->cap);
    told->items[told->n++] = (struct tide_told_name){offset, tide_demangle_told(stored)};
    tide_id_index_add(&told->by_offset, hash, id);
  }
  return told->items[id].text ? told->items[id].text : stored;
}

void tide_told_names_done(struct tide_told_names *told)
{
  for (size_t i = 0; i < told->n; i++)
    free(told->items[i].text);
  free(told->items);
  tide_id_index_done(&told->by_offset);
  *told = (struct tide_told_names){0};
}
