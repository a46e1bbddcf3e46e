// SPDX-License-Identifier: Apache-2.0
//
// Searching and growing the tree of captures.
#include "unwind/memo.h"

#include <string.h>

#define KEY_BIT (1ull << 48) // keeps the kept part of a key from being 0
#define WHAT_MASK ((1ull << 48) - 1)

static inline uint64_t first_key(uint64_t pc, uint64_t sp)
{
  return tide_mix64(pc * 31 ^ sp) | KEY_BIT;
}

static inline uint64_t next_key(uint64_t key, uint64_t value)
{
  key = tide_mix64(key ^ value);
  return (key ^ key >> 31) | KEY_BIT;
}

static inline uint32_t place_of(uint64_t key)
{
  return key >> 32 & (TIDE_MEMO_PLACES - 1);
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

const struct tide_memo *tide_memo_search(const struct tide_memo_table *memo, uint64_t pc,
                                         uint64_t sp, uint64_t fp,
                                         struct tide_memo_place *ret_place)
{
  uint64_t key = first_key(pc, sp);
  ret_place->kind = TIDE_MEMO_NOWHERE;
  for (int level = 0; level < TIDE_MEMO_LEVELS; level++) {
    uint32_t i = place_of(key);
    uint64_t at;
    while (TIDE_UNLIKELY(((at = memo->at[i]) ^ key) >> 48)) {
      if (!at) {
        *ret_place = (struct tide_memo_place){TIDE_MEMO_VACANT, key, 0, 0};
        return NULL;
      }
      i = (i + 1) & (TIDE_MEMO_PLACES - 1);
    }
    at &= WHAT_MASK;
    if (!(at & 1)) {
      if (TIDE_UNLIKELY(at < sp)) // astray
        return NULL;
      key = next_key(key, *(uint64_t *)at);
      continue;
    }
    const struct tide_memo *m = (const struct tide_memo *)(at - 1);
    if ((m->pc ^ pc) | (m->sp ^ sp) | (m->needs_fp ? m->fp ^ fp : 0))
      return NULL; // astray
    uint32_t w = first_changed(tide_memo_words(m), m->n);
    if (TIDE_LIKELY(w == m->n))
      return m;
    *ret_place = (struct tide_memo_place){TIDE_MEMO_SPLIT, key, i, w};
    return NULL;
  }
  return NULL;
}

static void take(struct tide_memo_table *memo, uint64_t key, uint64_t what)
{
  uint32_t i = place_of(key);
  while (memo->at[i])
    i = (i + 1) & (TIDE_MEMO_PLACES - 1);
  memo->at[i] = (key & ~WHAT_MASK) | what;
  memo->n_used++;
}

struct tide_memo *tide_memo_add(struct tide_memo_table *memo, const struct tide_memo_place *place,
                                uint64_t n)
{
  uint64_t padded = (n + 3) & ~3ull;
  if (padded + 4 > TIDE_MEMO_POOL - memo->n_words || place->kind == TIDE_MEMO_NOWHERE ||
      memo->n_used + 2 > TIDE_MEMO_PLACES / 2)
    return NULL;
  struct tide_memo *m = (struct tide_memo *)&memo->words[memo->n_words + padded];
  uint64_t key = place->key;
  if (place->kind == TIDE_MEMO_SPLIT) {
    uint64_t *at = &memo->at[place->index], old = *at & WHAT_MASK;
    const struct tide_word *word = (const struct tide_word *)(old - 1) - 1 - place->word;
    if (TIDE_UNLIKELY(word->slot & (~WHAT_MASK | 1)))
      return NULL;
    take(memo, next_key(key, word->value), old);
    *at = (*at & ~WHAT_MASK) | word->slot;
    key = next_key(key, *(uint64_t *)word->slot);
  }
  take(memo, key, (uint64_t)m + 1);
  m->n = (uint32_t)padded;
  memo->n_words += padded + 4;
  return m;
}

void tide_memo_empty(struct tide_memo_table *memo)
{
  memset(memo->at, 0, sizeof memo->at);
  memo->n_words = memo->n_used = 0;
}
