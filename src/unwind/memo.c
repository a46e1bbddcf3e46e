// SPDX-License-Identifier: Apache-2.0
//
// Searching and growing the tree of entries.
#include "unwind/memo.h"

#include "rt/arch.h"
#include "rt/cost.h"

#include <string.h>

// A place of the table, a word:
//
//     63             49  48  47               32  31                                0
//    +-----------------+---+--------------------+-----------------------------------+
//    | hash of the key | 1 | a branch's number, | where its word is: bytes from     |
//    |                 |   | mixed              | origin, an even number            |
//    |                 |   | an entry: 0        | where that is: bytes from the     |
//    |                 |   |                    | first, plus 1                     |
//    +-----------------+---+--------------------+-----------------------------------+
//
// A search waits for one such word after the other: from one to the next it takes two loads and two
// instructions. So a key's place is no more than some bits of the stack word and of the branch's
// number; the hash, which nothing waits for, is a proper one. Its lowest bit is that of a place in
// use.
enum { PLACE_MASK = TIDE_MEMO_PLACES - 1, USED_SHIFT = 48, NUMBER_SHIFT = 32 };
_Static_assert(TIDE_MEMO_TRUNK_POOL <= 1 << 16, "an entry has 16 bits for where its trunk is");

// A branch's number: its index, and above that what keeps its first ways off the places of others.
enum { INDEX_BITS = 11, SHIFTS = 1 << (16 - INDEX_BITS), MIX_SHIFT = 2 * INDEX_BITS - 16 };
_Static_assert(TIDE_MEMO_PLACES / 2 < 1 << INDEX_BITS, "every branch has an index");

// As it is in a branch: what is above the index is in the low bits, too.
static inline uint64_t mixed(uint64_t number)
{
  return number ^ number >> MIX_SHIFT;
}

static inline uint32_t index_of_branch(uint64_t branch)
{
  uint16_t number = (uint16_t)(branch >> NUMBER_SHIFT);
  for (uint16_t more = number; (more = (uint16_t)(more >> MIX_SHIFT));)
    number ^= more;
  return number & ((1 << INDEX_BITS) - 1);
}

struct key {
  uint64_t place, hash;
};

static inline struct key first_key(uint64_t pc, uint64_t sp)
{
  uint64_t place = pc >> TIDE_CODE_ALIGN_BITS ^ pc >> 9 ^ sp >> 4;
  return (struct key){place & PLACE_MASK, tide_mix64(pc ^ sp << 20) | 1ull << USED_SHIFT};
}

// From a branch on, by the present value of its word.
static inline struct key next_key(uint64_t branch, uint64_t value)
{
  uint64_t place = (value >> TIDE_CODE_ALIGN_BITS ^ branch >> NUMBER_SHIFT) & PLACE_MASK;
  return (struct key){place, tide_mix64(branch << 16 ^ value) | 1ull << USED_SHIFT};
}

static inline bool is_branch(uint64_t what)
{
  return !(what & 1);
}

static inline uint64_t slot_of(const struct tide_memo_table *memo, uint64_t branch)
{
  return memo->origin + (uint32_t)branch;
}

static inline const struct tide_memo_entry *entry_of(const struct tide_memo_table *memo,
                                                     uint64_t what)
{
  return (const struct tide_memo_entry *)((const char *)memo->entries + (uint32_t)what - 1);
}

static inline uint64_t what_is(const struct tide_memo_table *memo, const struct tide_memo_entry *m)
{
  return (uint64_t)((const char *)m - (const char *)memo->entries) + 1;
}

// Where a key is; false: nowhere, and there is where it would be put.
static inline bool find_place(const struct tide_memo_table *memo, struct key key,
                              uint64_t *ret_place)
{
  uint64_t i = key.place, at;
  while (TIDE_UNLIKELY(((at = memo->places[i]) ^ key.hash) >> USED_SHIFT)) {
    if (!at) {
      *ret_place = i;
      return false;
    }
    i = (i + 1) & PLACE_MASK;
  }
  *ret_place = i;
  return true;
}

const struct tide_memo_entry *tide_memo_search(struct tide_memo_table *memo, uint64_t pc,
                                               uint64_t sp, uint64_t fp,
                                               struct tide_memo_place *ret_place)
{
  struct tide_memo_place place = {.astray = true};
  uint64_t branch = 0, i;
  struct key key = first_key(pc, sp);
  for (int level = 0; level < TIDE_MEMO_LEVELS; level++) {
    if (TIDE_UNLIKELY(!find_place(memo, key, &i))) {
      place.astray = false;
      if (branch)
        place.beside = &memo->entries[memo->behind[index_of_branch(branch)]];
      break;
    }
    uint64_t what = memo->places[i];
    if (is_branch(what)) {
      uint64_t slot = slot_of(memo, what);
      if (TIDE_UNLIKELY(slot < sp)) // there is no word of anybody's
        break;
      branch = what;
      key = next_key(what, *(uint64_t *)slot);
      continue;
    }
    const struct tide_memo_entry *m = entry_of(memo, what);
    if (TIDE_UNLIKELY(!tide_memo_starts_at(memo, m, pc, sp, fp)))
      break;
    if (tide_memo_stands(memo, m)) {
      uint16_t *next = &memo->next[memo->history];
      memo->n_misled = *next == m->number ? 0 : memo->n_misled + 1;
      *next = m->number;
      tide_memo_found(memo, m);
      return m;
    }
    place = (struct tide_memo_place){.beside = m};
    break;
  }
  *ret_place = place;
  return NULL;
}

struct tide_memo_entry *tide_memo_room(struct tide_memo_table *memo, uint64_t n)
{
  uint32_t padded = ((uint32_t)n + 3) & ~3u;
  if (memo->n_words + padded > TIDE_MEMO_POOL ||
      memo->n_packed + 2 + padded > TIDE_MEMO_TRUNK_POOL ||
      memo->n_used + 2 > TIDE_MEMO_PLACES / 2 || memo->n_entries == TIDE_MEMO_ENTRIES)
    return NULL;
  memo->wholes[memo->n_entries] = (struct tide_memo_whole){
      .words = &memo->words[memo->n_words], .n = padded, .n_repeated = padded - (uint32_t)n};
  struct tide_memo_entry *m = &memo->entries[memo->n_entries];
  m->number = (uint16_t)memo->n_entries;
  return m;
}

static void put_key(struct tide_memo_table *memo, struct key key, uint64_t what)
{
  uint64_t i = key.place;
  while (memo->places[i])
    i = (i + 1) & PLACE_MASK;
  memo->places[i] = key.hash >> USED_SHIFT << USED_SHIFT | what;
  memo->n_used++;
}

// Word i of an entry, counted from the leaf.
static inline const struct tide_word *word_of(const struct tide_memo_whole *m, uint32_t i)
{
  return &m->words[m->n - 1 - i];
}

// The first word in which two entries differ, counted from the leaf; false: they differ in none,
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

// Which word of an entry is in a slot; its n: none.
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
  uint64_t old = memo->places[i] & what_mask, index = ++memo->n_branches;
  uint64_t branch = 0;
  for (uint64_t shift = 0; shift < SHIFTS; shift++) {
    uint64_t number = mixed(index | shift << INDEX_BITS);
    branch = (here->slot - memo->origin) | number << NUMBER_SHIFT;
    uint64_t a = next_key(branch, there->value).place, b = next_key(branch, here->value).place;
    if (!memo->places[a] && !memo->places[b] && a != b)
      break;
  }
  memo->places[i] = memo->places[i] - old + branch;
  put_key(memo, next_key(branch, there->value), old);
  put_key(memo, next_key(branch, here->value), what);
  return index;
}

// Follows near's way, from a first key on, to where m must leave it. False: that way is not what it
// was.
static bool file_beside(struct tide_memo_table *memo, const struct tide_memo_entry *near,
                        const struct tide_memo_whole *m, struct key key, uint64_t what_m)
{
  const struct tide_memo_whole *old = tide_memo_whole(memo, near);
  uint32_t difference;
  uint64_t i;
  if (!find_difference(old, m, &difference) || !is_near(memo, word_of(m, difference)->slot))
    return false;
  while (find_place(memo, key, &i)) {
    uint64_t what = memo->places[i];
    if (!is_branch(what) && entry_of(memo, what) != near)
      return false;
    uint32_t at = is_branch(what) ? index_of(old, slot_of(memo, what)) : old->n;
    if (at > difference) {
      uint64_t index =
          insert_branch(memo, i, word_of(old, difference), word_of(m, difference), what_m);
      memo->behind[index] = (uint32_t)(near - memo->entries);
      return true;
    }
    key = next_key(what, word_of(at < difference ? old : m, at)->value);
    if (at == difference && find_place(memo, key, &i))
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
static bool pack_leaf_words(struct tide_memo_entry *m, const struct tide_memo_whole *whole,
                            uint32_t n)
{
  for (uint32_t i = 0; i < TIDE_MEMO_LEAF_WORDS; i++)
    if (!tide_word_pack(*word_of(whole, i < n ? i : 0), m->sp, &m->leaf_words[i]))
      return false;
  return true;
}

void tide_memo_file(struct tide_memo_table *memo, struct tide_memo_entry *m,
                    const struct tide_memo_place *place)
{
  struct tide_memo_whole *whole = tide_memo_whole(memo, m);
  for (uint32_t i = whole->n_repeated; i > 0; i--)
    whole->words[i - 1] = whole->words[i];
  uint32_t n = whole->n - whole->n_repeated,
           n_leaf = n < TIDE_MEMO_LEAF_WORDS ? n : TIDE_MEMO_LEAF_WORDS;
  if (place->astray || !pack_leaf_words(m, whole, n_leaf))
    return;
  if (!memo->origin)
    memo->origin = (m->sp & ~7ull) - (1ull << 31);
  struct tide_memo_trunk trunk = {0}, *known = NULL;
  uint32_t n_packed = memo->n_packed;
  if (n > n_leaf) {
    trunk = trunk_new(memo, whole->words + whole->n_repeated, n - n_leaf);
    if (!trunk.n)
      return;
    known = trunk_known(memo, trunk);
    if (TIDE_HAS(TRUNK) && same_trunk(memo, *known, trunk))
      trunk = *known;
    else
      n_packed += 1 + trunk.n;
  }
  m->trunk = (uint16_t)trunk.at;
  m->n_trunk = (uint16_t)trunk.n;
  struct key key = first_key(m->pc, m->sp);
  uint64_t what = what_is(memo, m);
  if (!place->beside)
    put_key(memo, key, what);
  else if (!file_beside(memo, place->beside, whole, key, what))
    return;
  memo->n_entries++;
  memo->n_words += whole->n;
  memo->n_packed = n_packed;
  if (known)
    *known = trunk;
}

void tide_memo_init(struct tide_memo_table *memo)
{
  memo->n_entries = 1;
}

void tide_memo_empty(struct tide_memo_table *memo)
{
  memset(memo->places, 0, sizeof memo->places);
  memset(memo->trunks, 0, sizeof memo->trunks);
  memset(memo->next, 0, sizeof memo->next);
  memo->n_used = memo->n_branches = memo->n_words = memo->n_packed = 0;
  memo->origin = 0;
  tide_memo_init(memo);
}
