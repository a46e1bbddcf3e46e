// SPDX-License-Identifier: Apache-2.0
//
// Searching and growing the tree of captures.
#include "unwind/memo.h"

#include <string.h>

// A word of the table: the tag of its key in 16 bits, never 0; 16 bits, of a branch its number,
// from 1; and 32 bits, signed: of a branch where its word is, in bytes from origin, of a capture
// where it is, in bytes from the pool, plus 1. A search waits for one such word after the other:
// from one to the next it takes two loads, a multiplication, and as little else as possible.
enum { PLACE_SHIFT = 64 - TIDE_MEMO_LOG2, WHAT_BITS = 48, ID_SHIFT = 32 };
#define WHAT_MASK ((1ull << WHAT_BITS) - 1)

static inline uint64_t first_key(uint64_t pc, uint64_t sp)
{
  return tide_mix64(pc * 31 ^ sp);
}

// From a branch on, by the present value of its word. No two branches have the same number, so of
// addresses no two pairs give the same product.
static inline uint64_t next_key(uint64_t branch, uint64_t value)
{
  return tide_mix64(branch << (64 - WHAT_BITS) ^ value);
}

// What the place in the table, the topmost bits, does not tell of a key.
static inline uint64_t tag_of(uint64_t key)
{
  return key << TIDE_MEMO_LOG2 | 1ull << WHAT_BITS;
}

static inline bool is_branch(uint64_t what)
{
  return !(what & 1);
}

static inline uint64_t slot_of(const struct tide_memo_table *memo, uint64_t branch)
{
  return memo->origin + (uint64_t)(int64_t)(int32_t)branch;
}

static inline const struct tide_memo *capture_of(const struct tide_memo_table *memo, uint64_t what)
{
  return (const struct tide_memo *)((const char *)memo->words + (uint32_t)what - 1);
}

static inline uint64_t what_is(const struct tide_memo_table *memo, const struct tide_memo *m)
{
  return (uint64_t)((const char *)m - (const char *)memo->words) + 1;
}

// Where a key is; false: nowhere, and there is where it would be put.
static inline bool look(const struct tide_memo_table *memo, uint64_t key, uint32_t *ret_place)
{
  uint32_t i = (uint32_t)(key >> PLACE_SHIFT);
  uint64_t at;
  while (TIDE_UNLIKELY(((at = memo->at[i]) ^ tag_of(key)) >> WHAT_BITS) && at)
    i = (i + 1) & (TIDE_MEMO_PLACES - 1);
  *ret_place = i;
  return at;
}

const struct tide_memo *tide_memo_search(const struct tide_memo_table *memo, uint64_t pc,
                                         uint64_t sp, uint64_t fp,
                                         struct tide_memo_place *ret_place)
{
  uint64_t key = first_key(pc, sp), branch = 0;
  for (int level = 0; level < TIDE_MEMO_LEVELS; level++) {
    uint32_t i;
    if (TIDE_UNLIKELY(!look(memo, key, &i))) {
      *ret_place =
          (struct tide_memo_place){.near = branch ? memo->behind[branch >> ID_SHIFT] : NULL};
      return NULL;
    }
    uint64_t what = memo->at[i] & WHAT_MASK;
    if (is_branch(what)) {
      uint64_t slot = slot_of(memo, what);
      if (TIDE_UNLIKELY(slot < sp))
        break;
      branch = what;
      key = next_key(what, *(uint64_t *)slot);
      continue;
    }
    const struct tide_memo *m = capture_of(memo, what);
    if ((m->pc ^ pc) | (m->sp ^ sp) | (m->needs_fp ? m->fp ^ fp : 0))
      break;
    if (TIDE_LIKELY(tide_words_equal(tide_memo_end(m), tide_memo_end(m) - m->n)))
      return m;
    *ret_place = (struct tide_memo_place){.near = m};
    return NULL;
  }
  *ret_place = (struct tide_memo_place){.astray = true};
  return NULL;
}

struct tide_memo *tide_memo_room(struct tide_memo_table *memo, uint64_t n)
{
  uint64_t padded = (n + 3) & ~3ull;
  if (padded + 4 > TIDE_MEMO_POOL - memo->n_words || memo->n_used + 2 > TIDE_MEMO_PLACES / 2)
    return NULL;
  struct tide_memo *m = (struct tide_memo *)&memo->words[memo->n_words + padded];
  m->n = (uint32_t)padded;
  return m;
}

static void put(struct tide_memo_table *memo, uint64_t key, uint64_t what)
{
  uint32_t i = (uint32_t)(key >> PLACE_SHIFT);
  while (memo->at[i])
    i = (i + 1) & (TIDE_MEMO_PLACES - 1);
  memo->at[i] = (tag_of(key) & ~WHAT_MASK) | what;
  memo->n_used++;
}

// Word i of a capture, counted from the leaf.
static inline const struct tide_word *word_of(const struct tide_memo *m, uint32_t i)
{
  return tide_memo_end(m) - 1 - i;
}

// The first word in which two captures differ, counted from the leaf; false: they differ in none,
// or in where it is.
static bool find_difference(const struct tide_memo *a, const struct tide_memo *b, uint32_t *ret_i)
{
  uint32_t n = a->n < b->n ? a->n : b->n, i = 0;
  while (i < n && word_of(a, i)->slot == word_of(b, i)->slot &&
         word_of(a, i)->value == word_of(b, i)->value)
    i++;
  *ret_i = i;
  return i < n && word_of(a, i)->slot == word_of(b, i)->slot;
}

// Can a branch name it?
static bool is_near(const struct tide_memo_table *memo, uint64_t slot)
{
  int64_t offset = (int64_t)(slot - memo->origin);
  return offset == (int32_t)offset && !(offset & 1);
}

// Which word of a capture is in a slot; its n: none.
static uint32_t index_of(const struct tide_memo *m, uint64_t slot)
{
  uint32_t i = 0;
  while (i < m->n && word_of(m, i)->slot != slot)
    i++;
  return i;
}

// A new branch in place i, before what is there: on to that by near's word, and to m by m's.
static void insert_branch(struct tide_memo_table *memo, uint32_t i, uint32_t difference,
                          const struct tide_memo *near, const struct tide_memo *m)
{
  uint64_t old = memo->at[i] & WHAT_MASK, id = ++memo->n_branches;
  uint64_t offset = word_of(near, difference)->slot - memo->origin;
  uint64_t branch = (uint32_t)offset | id << ID_SHIFT;
  memo->behind[id] = near;
  memo->at[i] = (memo->at[i] & ~WHAT_MASK) | branch;
  put(memo, next_key(branch, word_of(near, difference)->value), old);
  put(memo, next_key(branch, word_of(m, difference)->value), what_is(memo, m));
}

// Follows near's way to where m must leave it. False: that way is not what it was.
static bool file_beside(struct tide_memo_table *memo, const struct tide_memo *near,
                        const struct tide_memo *m)
{
  uint64_t key = first_key(m->pc, m->sp);
  uint32_t difference, i;
  if (!find_difference(near, m, &difference) || !is_near(memo, word_of(m, difference)->slot))
    return false;
  while (look(memo, key, &i)) {
    uint64_t what = memo->at[i] & WHAT_MASK;
    if (!is_branch(what) && what != what_is(memo, near))
      return false;
    uint32_t at = is_branch(what) ? index_of(near, slot_of(memo, what)) : near->n;
    if (at > difference) {
      insert_branch(memo, i, difference, near, m);
      return true;
    }
    key = next_key(what, word_of(at < difference ? near : m, at)->value);
    if (at == difference && look(memo, key, &i))
      return false;
    if (at == difference) {
      put(memo, key, what_is(memo, m));
      return true;
    }
  }
  return false;
}

void tide_memo_file(struct tide_memo_table *memo, struct tide_memo *m,
                    const struct tide_memo_place *place)
{
  if (place->astray)
    return;
  if (!memo->origin)
    memo->origin = m->sp & ~7ull;
  if (!place->near)
    put(memo, first_key(m->pc, m->sp), what_is(memo, m));
  else if (!file_beside(memo, place->near, m))
    return;
  memo->n_words += m->n + 4;
}

void tide_memo_empty(struct tide_memo_table *memo)
{
  memset(memo->at, 0, sizeof memo->at);
  memo->n_words = memo->n_used = memo->n_branches = memo->origin = 0;
}
