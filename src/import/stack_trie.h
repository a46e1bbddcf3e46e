// SPDX-License-Identifier: Apache-2.0
//
// Stacks of numbers, for formats whose samples come before the frames they refer to: each stack is
// kept once, and what stacks have in common, seen from the outermost frame, is kept once too.
// Zeroed memory is an empty trie.
#pragma once
#include "import/table.h"

struct tide_trie_link { // [0] is the root; a parent comes before its children
  uint32_t parent, value;
};

struct tide_trie {
  struct tide_trie_link *links; // NULL when only the root is there
  size_t n, cap;                // n counts the root
  struct tide_table table;
};

static inline void tide_trie_done(struct tide_trie *trie)
{
  free(trie->links);
  tide_table_done(&trie->table);
  *trie = (struct tide_trie){0};
}

static inline bool tide_trie_same(const void *context, const void *key, uint32_t position)
{
  const struct tide_trie_link *a = &((const struct tide_trie *)context)->links[position], *b = key;
  return a->parent == b->parent && a->value == b->value;
}

// The link of a stack, given innermost first; 0 for an empty one. The caller sees to it that there
// are less than 2^32 links.
static inline uint32_t tide_trie_put(struct tide_trie *trie, const uint32_t *values, size_t n)
{
  uint32_t at = 0;
  if (!trie->n) {
    TIDE_GROW(trie->links, trie->n, trie->cap);
    trie->links[trie->n++] = (struct tide_trie_link){0};
  }
  while (n-- > 0) {
    struct tide_trie_link link = {at, values[n]};
    uint32_t hash = tide_table_mix(link.value, link.parent);
    at = tide_table_put(&trie->table, hash, tide_trie_same, trie, &link, (uint32_t)trie->n);
    if (at == trie->n) {
      TIDE_GROW(trie->links, trie->n, trie->cap);
      trie->links[trie->n++] = link;
    }
  }
  return at;
}
