// SPDX-License-Identifier: Apache-2.0
//
// Searching and growing the tree of captures.
#include "unwind/memo.h"

#include <string.h>

static inline uint64_t first_key(uint64_t pc, uint64_t sp)
{
  return tide_mix64(pc * 31 ^ sp) | 1;
}

static inline uint64_t next_key(uint64_t key, uint64_t value)
{
  key = tide_mix64(key ^ value);
  return (key ^ key >> 31) | 1;
}

static inline uint32_t group_of(uint64_t key)
{
  return key >> 40 & (TIDE_MEMO_GROUPS - 1);
}

// The first word that changed, counted from the leaf (the last word), or n. Near the leaf, where
// stacks differ, stop early; farther out compare everything and look for the place only if
// something differs.
static inline uint32_t first_changed(const struct tide_word *w, uint32_t n)
{
  const struct tide_word *p = w + n;
  uint32_t i = 0;
  for (; i < n && i < 4; i += 4) {
    p -= 4;
    if (TIDE_CHANGED(p[0]) | TIDE_CHANGED(p[1]) | TIDE_CHANGED(p[2]) | TIDE_CHANGED(p[3]))
      goto found;
  }
  uint64_t a = 0, b = 0;
  for (const struct tide_word *q = w; q < p; q += 4) {
    a |= TIDE_CHANGED(q[0]) | TIDE_CHANGED(q[1]);
    b |= TIDE_CHANGED(q[2]) | TIDE_CHANGED(q[3]);
  }
  if (TIDE_LIKELY(!(a | b)))
    return n;
found:
  while (!TIDE_CHANGED(w[n - 1 - i]))
    i++;
  return i;
}

// A branch per tag, although no two stacks in a row may take the same way: a right guess runs ahead
// of the loads, and comparing all four tags without branches was tried and is slower.
const struct tide_memo *tide_memo_search(const struct tide_memo_table *memo, uint64_t pc,
                                         uint64_t sp, uint64_t fp,
                                         struct tide_memo_place *ret_place)
{
  uint64_t key = first_key(pc, sp);
  ret_place->kind = TIDE_MEMO_NOWHERE;
  for (int level = 0; level < TIDE_MEMO_LEVELS; level++) {
    uint32_t g = group_of(key), i = 0;
    while (memo->group[g].tag[i] != key) {
      if (!memo->group[g].tag[i]) {
        *ret_place = (struct tide_memo_place){TIDE_MEMO_VACANT, key, 0, 0};
        return NULL;
      }
      if (++i == 4) { // full: what found no room here is next door
        if (g != group_of(key))
          return NULL;
        g ^= 1;
        i = 0;
      }
    }
    uint64_t slot = memo->group[g].branch[i];
    if (slot) {
      key = next_key(key, *(uint64_t *)slot);
      continue;
    }
    const struct tide_memo *m = &memo->entry[g * 4 + i];
    if ((m->pc ^ pc) | (m->sp ^ sp) | (m->needs_fp ? m->fp ^ fp : 0))
      return NULL; // another path with the same key
    uint32_t w = first_changed(m->words, m->n);
    if (TIDE_LIKELY(w == m->n))
      return m;
    *ret_place = (struct tide_memo_place){TIDE_MEMO_SPLIT, key, g * 4 + i, w};
    return NULL;
  }
  return NULL;
}

// Takes a vacant entry for key, here or next door; false: both groups are full.
static bool take(struct tide_memo_table *memo, uint64_t key, uint32_t *ret_index)
{
  for (uint32_t door = 0; door < 2; door++) {
    uint32_t g = group_of(key) ^ door;
    for (uint32_t i = 0; i < 4; i++)
      if (!memo->group[g].tag[i]) {
        memo->group[g].tag[i] = key;
        memo->group[g].branch[i] = 0;
        *ret_index = g * 4 + i;
        return true;
      }
  }
  return false;
}

static void give_back(struct tide_memo_table *memo, uint32_t index)
{
  memo->group[index / 4].tag[index % 4] = 0; // the last one taken: no hole is left
}

// The capture at the place moves behind a branch on the word that tells it from the new one.
static bool split(struct tide_memo_table *memo, const struct tide_memo_place *place,
                  uint32_t *ret_index)
{
  struct tide_memo *old = &memo->entry[place->index];
  const struct tide_word *word = &old->words[old->n - 1 - place->word];
  uint32_t moved;
  if (!take(memo, next_key(place->key, word->value), &moved))
    return false;
  if (!take(memo, next_key(place->key, *(uint64_t *)word->slot), ret_index)) {
    give_back(memo, moved);
    return false;
  }
  memo->entry[moved] = *old;
  memo->group[place->index / 4].branch[place->index % 4] = word->slot;
  return true;
}

struct tide_memo *tide_memo_add(struct tide_memo_table *memo, const struct tide_memo_place *place,
                                uint64_t n)
{
  uint64_t padded = (n + 3) & ~3ull;
  uint32_t index;
  if (padded > TIDE_MEMO_POOL - memo->n_words || place->kind == TIDE_MEMO_NOWHERE)
    return NULL;
  if (place->kind == TIDE_MEMO_SPLIT ? !split(memo, place, &index)
                                     : !take(memo, place->key, &index))
    return NULL;
  struct tide_memo *m = &memo->entry[index];
  m->words = &memo->words[memo->n_words];
  m->n = (uint32_t)padded;
  memo->n_words += padded;
  return m;
}

void tide_memo_empty(struct tide_memo_table *memo)
{
  memset(memo->group, 0, sizeof memo->group);
  memo->n_words = 0;
}
