// SPDX-License-Identifier: Apache-2.0
//
// Searching and growing the tree of captures.
#include "unwind/memo.h"

#include "rt/arch.h"

#include <string.h>

// A word of the table: 15 bits of its key's hash; a 1; 16 bits, of a branch its number, of a
// capture where its trunk is; and 32 bits: of a branch where its word is, in bytes from origin, of
// a capture where that is, in bytes from the first, plus 1. A search waits for one such word after
// the other: from one to the next it takes two loads and two instructions. So a place in the table
// is no more than some bits of the stack word and of the branch's number; the hash, which nothing
// waits for, is a proper one.
enum { PLACE_MASK = TIDE_MEMO_PLACES - 1, HASH_SHIFT = 49, USED_SHIFT = 48, NUMBER_SHIFT = 32 };
_Static_assert(TIDE_MEMO_TRUNK_POOL <= 1 << 16, "a capture's number is where its trunk is");

// A branch's number: its index, and above that what keeps its first ways off the places of others.
enum { INDEX_BITS = 11, SHIFTS = 1 << (16 - INDEX_BITS) };
_Static_assert(TIDE_MEMO_PLACES / 2 < 1 << INDEX_BITS, "every branch has an index");

static inline uint16_t number_of(uint64_t what)
{
  return (uint16_t)(what >> NUMBER_SHIFT);
}

static inline uint32_t index_of_branch(uint64_t branch)
{
  return number_of(branch) & ((1 << INDEX_BITS) - 1);
}

struct key {
  uint64_t place, hash;
};

static inline struct key first_key(uint64_t pc, uint64_t sp)
{
  uint64_t place = pc >> TIDE_CODE_ALIGN_BITS ^ pc >> 9 ^ sp >> 4;
  return (struct key){place & PLACE_MASK, tide_mix64(pc ^ sp << 20)};
}

// From a branch on, by the present value of its word.
static inline struct key next_key(uint64_t branch, uint64_t value)
{
  uint64_t number = number_of(branch);
  number ^= number >> (2 * INDEX_BITS - 16);
  __asm__("" : "+r"(number)); // now: the value comes last
  uint64_t place = (value >> TIDE_CODE_ALIGN_BITS ^ number) & PLACE_MASK;
  return (struct key){place, tide_mix64(branch << 16 ^ value)};
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
  return (const struct tide_memo *)((const char *)memo->captures + (uint32_t)what - 1);
}

static inline uint64_t what_is(const struct tide_memo_table *memo, const struct tide_memo *m,
                               uint32_t trunk)
{
  uint64_t bytes = (uint64_t)((const char *)m - (const char *)memo->captures);
  return (bytes + 1) | (uint64_t)trunk << NUMBER_SHIFT;
}

// Where a key is; false: nowhere, and there is where it would be put.
static inline bool look(const struct tide_memo_table *memo, struct key key, uint64_t *ret_place)
{
  uint64_t i = key.place, at;
  while (TIDE_UNLIKELY(((at = memo->at[i]) ^ key.hash) >> HASH_SHIFT) && at)
    i = (i + 1) & PLACE_MASK;
  *ret_place = i;
  return at;
}

// The bits in which the stack differs from a capture's own words, if it is one of this sp.
static inline uint64_t own_changed(const struct tide_memo *m, uint64_t sp)
{
  _Static_assert(TIDE_MEMO_OWN == 4, "without a loop");
  return tide_packed_changed(m->own, m->own + TIDE_MEMO_OWN, sp);
}

// The same of a trunk's.
static inline uint64_t trunk_changed(const struct tide_memo_table *memo, uint32_t at, uint32_t n)
{
  const uint64_t *first = &memo->packed[at + 1];
  return tide_packed_changed(first, first + n, memo->packed[at]);
}

__attribute__((noinline)) static void judge(struct tide_memo_table *memo,
                                            struct tide_memo_trunk latest)
{
  bool was_good = memo->n_had_it >= TIDE_MEMO_TRIAL;
  memo->n_had_it = 0;
  memo->n_others = TIDE_MEMO_TRIAL;
  if (was_good) {
    memo->n_without = TIDE_MEMO_TRIAL;
  } else if (!memo->trunk.at) {
    memo->trunk = latest;
  } else {
    memo->trunk = (struct tide_memo_trunk){0};
    memo->n_others = memo->n_without;
    if (memo->n_without < TIDE_MEMO_MAX_WITHOUT)
      memo->n_without *= 2;
  }
}

// Does a capture stand that has another trunk than the expected one?
static inline bool other_stands(struct tide_memo_table *memo, const struct tide_memo *m,
                                uint64_t sp, uint32_t trunk)
{
  if (TIDE_UNLIKELY(own_changed(m, sp) | trunk_changed(memo, trunk, m->n_trunk)))
    return false;
  if (TIDE_UNLIKELY(!--memo->n_others))
    judge(memo, (struct tide_memo_trunk){trunk, m->n_trunk});
  return true;
}

// The same of one that has it, and changed says in what that differs from the stack.
static inline bool expected_stands(struct tide_memo_table *memo, const struct tide_memo *m,
                                   uint64_t sp, uint64_t changed)
{
  memo->n_had_it++;
  return TIDE_LIKELY(!(own_changed(m, sp) | changed));
}

// See memo.h; ret_place may be NULL.
TIDE_HOT const struct tide_memo *descend(struct tide_memo_table *memo, uint64_t pc, uint64_t sp,
                                         uint64_t fp, struct tide_memo_place *ret_place)
{
  struct tide_memo_place place = {.astray = true};
  uint64_t changed = 0, branch = 0, i;
  if (memo->trunk.at) // below sp there is no word of anybody's
    changed = TIDE_LIKELY(memo->packed[memo->trunk.at] >= sp)
                  ? trunk_changed(memo, memo->trunk.at, memo->trunk.n)
                  : 1;
  struct key key = first_key(pc, sp);
  for (int level = 0; level < TIDE_MEMO_LEVELS; level++) {
    if (TIDE_UNLIKELY(!look(memo, key, &i))) {
      place.astray = false;
      if (branch)
        place.near = &memo->captures[memo->behind[index_of_branch(branch)]];
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
    if (TIDE_UNLIKELY((m->pc ^ pc) | (m->sp ^ sp)))
      break;
    if (TIDE_UNLIKELY(m->needs_fp) && tide_memo_whole(memo, m)->fp != fp)
      break;
    if (number_of(what) == memo->trunk.at ? expected_stands(memo, m, sp, changed)
                                          : other_stands(memo, m, sp, number_of(what)))
      return m;
    place = (struct tide_memo_place){.near = m};
    break;
  }
  if (ret_place)
    *ret_place = place;
  return NULL;
}

// Does the capture stand that is to come next?
TIDE_HOT bool next_stands(const struct tide_memo_table *memo, const struct tide_memo *m,
                          uint64_t pc, uint64_t sp, uint64_t fp)
{
  if (TIDE_UNLIKELY((m->pc ^ pc) | (m->sp ^ sp)))
    return false;
  if (TIDE_UNLIKELY(m->needs_fp) && memo->wholes[m - memo->captures].fp != fp)
    return false;
  return TIDE_LIKELY(!(own_changed(m, sp) | trunk_changed(memo, m->trunk, m->n_trunk)));
}

const struct tide_memo *tide_memo_find(struct tide_memo_table *memo, uint64_t pc, uint64_t sp,
                                       uint64_t fp)
{
  uint16_t *next = &memo->next[memo->history];
  const struct tide_memo *m = &memo->captures[*next];
  if (TIDE_UNLIKELY(!next_stands(memo, m, pc, sp, fp))) {
    m = descend(memo, pc, sp, fp, NULL);
    if (TIDE_UNLIKELY(!m))
      return NULL;
    *next = (uint16_t)(m - memo->captures);
  }
  memo->history = (memo->history << 3 ^ (uint32_t)(m - memo->captures)) % TIDE_MEMO_NEXT;
  return m;
}

const struct tide_memo *tide_memo_search(struct tide_memo_table *memo, uint64_t pc, uint64_t sp,
                                         uint64_t fp, struct tide_memo_place *ret_place)
{
  return descend(memo, pc, sp, fp, ret_place);
}

struct tide_memo *tide_memo_room(struct tide_memo_table *memo, uint64_t n)
{
  uint32_t padded = ((uint32_t)n + 3) & ~3u;
  if (memo->n_words + padded > TIDE_MEMO_POOL ||
      memo->n_packed + 2 + padded > TIDE_MEMO_TRUNK_POOL ||
      memo->n_used + 2 > TIDE_MEMO_PLACES / 2 || memo->n_captures == TIDE_MEMO_CAPTURES)
    return NULL;
  memo->wholes[memo->n_captures] = (struct tide_memo_whole){
      .words = &memo->words[memo->n_words], .n = padded, .n_repeated = padded - (uint32_t)n};
  return &memo->captures[memo->n_captures];
}

static void put_key(struct tide_memo_table *memo, struct key key, uint64_t what)
{
  uint64_t i = key.place;
  while (memo->at[i])
    i = (i + 1) & PLACE_MASK;
  memo->at[i] = key.hash >> HASH_SHIFT << HASH_SHIFT | 1ull << USED_SHIFT | what;
  memo->n_used++;
}

// Word i of a capture, counted from the leaf.
static inline const struct tide_word *word_of(const struct tide_memo_whole *m, uint32_t i)
{
  return &m->words[m->n - 1 - i];
}

// The first word in which two captures differ, counted from the leaf; false: they differ in none,
// or in where it is.
static bool find_difference(const struct tide_memo_whole *a, const struct tide_memo_whole *b,
                            uint32_t *ret_i)
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
static uint32_t index_of(const struct tide_memo_whole *m, uint64_t slot)
{
  uint32_t i = 0;
  while (i < m->n && word_of(m, i)->slot != slot)
    i++;
  return i;
}

// A new branch in place i, before what is there: on to that by its word's value, to the new one by
// another.
static uint64_t insert_branch(struct tide_memo_table *memo, uint64_t i,
                              const struct tide_word *there, const struct tide_word *here,
                              uint64_t what)
{
  uint64_t what_mask = (1ull << USED_SHIFT) - 1;
  uint64_t old = memo->at[i] & what_mask, index = ++memo->n_branches;
  uint64_t branch = (here->slot - memo->origin) | index << NUMBER_SHIFT;
  for (int shift = 1; shift < SHIFTS; shift++) {
    uint64_t a = next_key(branch, there->value).place, b = next_key(branch, here->value).place;
    if (!memo->at[a] && !memo->at[b] && a != b)
      break;
    branch += 1ull << (NUMBER_SHIFT + INDEX_BITS);
  }
  memo->at[i] = memo->at[i] - old + branch;
  put_key(memo, next_key(branch, there->value), old);
  put_key(memo, next_key(branch, here->value), what);
  return index;
}

// Follows near's way, from a first key on, to where m must leave it. False: that way is not what it
// was.
static bool file_beside(struct tide_memo_table *memo, const struct tide_memo *near,
                        const struct tide_memo_whole *m, struct key key, uint64_t what_m)
{
  const struct tide_memo_whole *old = tide_memo_whole(memo, near);
  uint32_t difference;
  uint64_t i;
  if (!find_difference(old, m, &difference) || !is_near(memo, word_of(m, difference)->slot))
    return false;
  while (look(memo, key, &i)) {
    uint64_t what = memo->at[i];
    if (!is_branch(what) && capture_of(memo, what) != near)
      return false;
    uint32_t at = is_branch(what) ? index_of(old, slot_of(memo, what)) : old->n;
    if (at > difference) {
      uint64_t index =
          insert_branch(memo, i, word_of(old, difference), word_of(m, difference), what_m);
      memo->behind[index] = (uint32_t)(near - memo->captures);
      return true;
    }
    key = next_key(what, word_of(at < difference ? old : m, at)->value);
    if (at == difference && look(memo, key, &i))
      return false;
    if (at == difference) {
      put_key(memo, key, what_m);
      return true;
    }
  }
  return false;
}

// A trunk of n words where there is room; n 0: one is too far away.
static struct tide_memo_trunk trunk_new(struct tide_memo_table *memo, const struct tide_word *words,
                                        uint32_t n)
{
  uint32_t n_repeated = -n & 3;
  struct tide_memo_trunk trunk = {1 + memo->n_packed, n + n_repeated}; // 0 is none
  uint64_t *base = &memo->packed[trunk.at], *to = base + 1;
  *base = words[0].slot;
  for (uint32_t i = 1; i < n; i++)
    *base = words[i].slot < *base ? words[i].slot : *base;
  for (uint32_t i = 0; i < trunk.n; i++)
    if (!tide_word_pack(words[i < n_repeated ? 0 : i - n_repeated], *base, to++))
      return (struct tide_memo_trunk){0};
  return trunk;
}

// Where the same one may be known already.
static struct tide_memo_trunk *trunk_known(struct tide_memo_table *memo,
                                           struct tide_memo_trunk trunk)
{
  uint64_t hash = tide_mix64(memo->packed[trunk.at] ^ memo->packed[trunk.at + trunk.n]);
  return &memo->trunks[((hash >> 32) + trunk.n) % TIDE_MEMO_TRUNKS];
}

static bool same_trunk(const struct tide_memo_table *memo, struct tide_memo_trunk a,
                       struct tide_memo_trunk b)
{
  const uint64_t *packed = memo->packed;
  return a.n == b.n && !memcmp(&packed[a.at], &packed[b.at], (a.n + 1) * sizeof *packed);
}

// The words next to the leaf, n of them; the leaf's fills what is left. False: one is too far away.
static bool pack_own(struct tide_memo *m, const struct tide_memo_whole *whole, uint32_t n)
{
  for (uint32_t i = 0; i < TIDE_MEMO_OWN; i++)
    if (!tide_word_pack(*word_of(whole, i < n ? i : 0), m->sp, &m->own[i]))
      return false;
  return true;
}

void tide_memo_file(struct tide_memo_table *memo, struct tide_memo *m,
                    const struct tide_memo_place *place)
{
  struct tide_memo_whole *whole = tide_memo_whole(memo, m);
  for (uint32_t i = whole->n_repeated; i > 0; i--)
    whole->words[i - 1] = whole->words[i];
  uint32_t n = whole->n - whole->n_repeated, n_own = n < TIDE_MEMO_OWN ? n : TIDE_MEMO_OWN;
  if (place->astray || !pack_own(m, whole, n_own))
    return;
  if (!memo->origin)
    memo->origin = (m->sp & ~7ull) - (1ull << 31);
  struct tide_memo_trunk trunk = {0}, *known = NULL;
  uint32_t n_packed = memo->n_packed;
  if (n > n_own) {
    trunk = trunk_new(memo, whole->words + whole->n_repeated, n - n_own);
    if (!trunk.n)
      return;
    known = trunk_known(memo, trunk);
    if (same_trunk(memo, *known, trunk))
      trunk = *known;
    else
      n_packed += 1 + trunk.n;
  }
  m->trunk = (uint16_t)trunk.at;
  m->n_trunk = (uint16_t)trunk.n;
  struct key key = first_key(m->pc, m->sp);
  uint64_t what = what_is(memo, m, trunk.at);
  if (!place->near)
    put_key(memo, key, what);
  else if (!file_beside(memo, place->near, whole, key, what))
    return;
  memo->n_captures++;
  memo->n_words += whole->n;
  memo->n_packed = n_packed;
  if (known)
    *known = trunk;
}

void tide_memo_init(struct tide_memo_table *memo)
{
  memo->trunk = (struct tide_memo_trunk){0};
  memo->n_captures = 1;
  memo->n_had_it = 0;
  memo->n_others = 1;
  memo->n_without = TIDE_MEMO_TRIAL;
}

void tide_memo_empty(struct tide_memo_table *memo)
{
  memset(memo->at, 0, sizeof memo->at);
  memset(memo->trunks, 0, sizeof memo->trunks);
  memset(memo->next, 0, sizeof memo->next);
  memo->n_used = memo->n_branches = memo->n_words = memo->n_packed = 0;
  memo->origin = 0;
  tide_memo_init(memo);
}
