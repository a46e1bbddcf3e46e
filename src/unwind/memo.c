// SPDX-License-Identifier: Apache-2.0
//
// Searching and growing the tree of captures.
#include "unwind/memo.h"

#include "rt/arch.h"

#include <string.h>

// A word of the table: 15 bits of its key's hash; a 1; 16 bits, of a branch its number; and 32
// bits: of a branch where its word is, in bytes from origin, of a capture where it is, in bytes
// from the pool, plus 1. A search waits for one such word after the other: from one to the next it
// takes two loads and two instructions. So a place in the table is no more than some bits of the
// stack word and of the branch's number; the hash, which nothing waits for, is a proper one.
enum { PLACE_MASK = TIDE_MEMO_PLACES - 1, HASH_SHIFT = 49, USED_SHIFT = 48, NUMBER_SHIFT = 32 };

// A branch's number: its index, and above that what keeps its first ways off the places of others.
enum { INDEX_BITS = 11, SHIFTS = 1 << (16 - INDEX_BITS) };
_Static_assert(TIDE_MEMO_PLACES / 2 < 1 << INDEX_BITS, "every branch has an index");
static inline uint64_t index_of_branch(uint64_t branch)
{
  return branch >> NUMBER_SHIFT & ((1 << INDEX_BITS) - 1);
}

struct key {
  uint32_t place;
  uint64_t hash;
};

static inline struct key first_key(uint64_t pc, uint64_t sp)
{
  uint64_t place = pc >> TIDE_CODE_ALIGN_BITS ^ pc >> 9 ^ sp >> 4;
  return (struct key){place & PLACE_MASK, tide_mix64(pc * 31 ^ sp)};
}

// From a branch on, by the present value of its word.
static inline struct key next_key(uint64_t branch, uint64_t value)
{
  uint32_t number = (uint16_t)(branch >> NUMBER_SHIFT);
  number ^= number >> (2 * INDEX_BITS - 16);
  __asm__("" : "+r"(number)); // now: the value comes last
  uint64_t place = (value >> TIDE_CODE_ALIGN_BITS ^ number) & PLACE_MASK;
  return (struct key){(uint32_t)place, tide_mix64(branch << 16 ^ value)};
}

static inline bool is_branch(uint64_t what)
{
  return !(what & 1);
}

static inline uint64_t slot_of(const struct tide_memo_table *memo, uint64_t branch)
{
  return memo->origin + (uint32_t)branch;
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
static inline bool look(const struct tide_memo_table *memo, struct key key, uint32_t *ret_place)
{
  uint32_t i = key.place;
  uint64_t at;
  while (TIDE_UNLIKELY(((at = memo->at[i]) ^ key.hash) >> HASH_SHIFT) && at)
    i = (i + 1) & PLACE_MASK;
  *ret_place = i;
  return at;
}

// See memo.h; ret_place may be NULL.
TIDE_HOT const struct tide_memo *descend(const struct tide_memo_table *memo, uint64_t pc,
                                         uint64_t sp, uint64_t fp,
                                         struct tide_memo_place *ret_place)
{
  struct tide_memo_place place = {.astray = true};
  struct key key = first_key(pc, sp);
  uint64_t branch = 0;
  for (int level = 0; level < TIDE_MEMO_LEVELS; level++) {
    uint32_t i;
    if (TIDE_UNLIKELY(!look(memo, key, &i))) {
      place =
          (struct tide_memo_place){.near = branch ? memo->behind[index_of_branch(branch)] : NULL};
      break;
    }
    uint64_t what = memo->at[i];
    if (is_branch(what)) {
      uint64_t slot = slot_of(memo, what);
      if (TIDE_UNLIKELY(slot < sp))
        break;
      branch = what;
      key = next_key(what, *(uint64_t *)slot);
      continue;
    }
    const struct tide_memo *m = capture_of(memo, what);
    if (TIDE_UNLIKELY((m->pc ^ pc) | (m->sp ^ sp) | (m->needs_fp ? m->fp ^ fp : 0)))
      break;
    if (TIDE_LIKELY(tide_words_equal(tide_memo_end(m), tide_memo_end(m) - m->n)))
      return m;
    place = (struct tide_memo_place){.near = m};
    break;
  }
  if (ret_place)
    *ret_place = place;
  return NULL;
}

const struct tide_memo *tide_memo_find(const struct tide_memo_table *memo, uint64_t pc, uint64_t sp,
                                       uint64_t fp)
{
  return descend(memo, pc, sp, fp, NULL);
}

const struct tide_memo *tide_memo_search(const struct tide_memo_table *memo, uint64_t pc,
                                         uint64_t sp, uint64_t fp,
                                         struct tide_memo_place *ret_place)
{
  return descend(memo, pc, sp, fp, ret_place);
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

static void put(struct tide_memo_table *memo, struct key key, uint64_t what)
{
  uint32_t i = key.place;
  while (memo->at[i])
    i = (i + 1) & PLACE_MASK;
  memo->at[i] = key.hash >> HASH_SHIFT << HASH_SHIFT | 1ull << USED_SHIFT | what;
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
  uint64_t offset = slot - memo->origin;
  return offset == (uint32_t)offset && !(offset & 1);
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
  uint64_t what_mask = (1ull << USED_SHIFT) - 1;
  uint64_t old = memo->at[i] & what_mask, index = ++memo->n_branches;
  uint64_t offset = word_of(near, difference)->slot - memo->origin;
  uint64_t near_value = word_of(near, difference)->value, value = word_of(m, difference)->value;
  uint64_t branch = offset | index << NUMBER_SHIFT;
  for (int shift = 1; shift < SHIFTS; shift++) {
    uint32_t a = next_key(branch, near_value).place, b = next_key(branch, value).place;
    if (!memo->at[a] && !memo->at[b] && a != b)
      break;
    branch += 1ull << (NUMBER_SHIFT + INDEX_BITS);
  }
  memo->behind[index] = near;
  memo->at[i] = memo->at[i] - old + branch;
  put(memo, next_key(branch, near_value), old);
  put(memo, next_key(branch, value), what_is(memo, m));
}

// Follows near's way to where m must leave it. False: that way is not what it was.
static bool file_beside(struct tide_memo_table *memo, const struct tide_memo *near,
                        const struct tide_memo *m)
{
  struct key key = first_key(m->pc, m->sp);
  uint32_t difference, i;
  if (!find_difference(near, m, &difference) || !is_near(memo, word_of(m, difference)->slot))
    return false;
  while (look(memo, key, &i)) {
    uint64_t what = memo->at[i];
    if (!is_branch(what) && capture_of(memo, what) != near)
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
    memo->origin = (m->sp & ~7ull) - (1ull << 31);
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
