// SPDX-License-Identifier: Apache-2.0
//
// Searching and growing the tree of entries.
#include "unwind/memo.h"

#include "rt/arch.h"
#include "rt/cost.h"
#include "rt/sys.h"

#include <string.h>

// A place of the table, a word:
//
//     63             49  48  47               29  28                            1   0
//    +-----------------+---+--------------------+-------------------------------+---+
//    | hash of the key | 1 | a branch's number  | where its word is: words from | 0 |
//    |                 |   |                    | origin                        |   |
//    |                 |   | an entry: 0        | its number                    | 1 |
//    +-----------------+---+--------------------+-------------------------------+---+
//
// A search waits for one such word after the other: from one to the next it takes two loads and two
// instructions. So a key's place is no more than some bits of the stack word and of the branch's
// number; the hash, which nothing waits for, is a proper one.
enum { USED_SHIFT = 48, NUMBER_SHIFT = 29 };
#define WHAT_MASK ((1ull << USED_SHIFT) - 1)
#define WHERE_MASK ((1ull << NUMBER_SHIFT) - 2) // its bits as they stand: twice the number

// A branch's number: its index, and above that what keeps its first ways off the places of others.
enum { INDEX_BITS = 14, NUMBER_BITS = USED_SHIFT - NUMBER_SHIFT };
enum { SHIFTS = 1 << (NUMBER_BITS - INDEX_BITS) };
_Static_assert(TIDE_MEMO_LAST_LOG2 <= INDEX_BITS + 1, "every branch has an index");

static inline uint64_t number_of(uint64_t what)
{
  return (what & WHAT_MASK) >> NUMBER_SHIFT;
}

static inline uint64_t index_of_branch(uint64_t branch)
{
  return number_of(branch) & ((1 << INDEX_BITS) - 1);
}

struct key {
  uint64_t place, hash;
};

static inline struct key first_key(const struct tide_memo_table *memo, uint64_t pc, uint64_t sp)
{
  uint64_t place = pc >> TIDE_CODE_ALIGN_BITS ^ pc >> 9 ^ sp >> 4;
  return (struct key){place & memo->mask, tide_mix64(pc ^ sp << 20) | 1ull << USED_SHIFT};
}

// From a branch on, by the present value of its word: as many bits of it as are kept.
static inline struct key next_key(const struct tide_memo_table *memo, uint64_t branch,
                                  uint64_t value)
{
  uint64_t number = number_of(branch);
  // Programs have few return addresses where they branch: it is the number that spreads.
  number = (number ^ number >> (2 * INDEX_BITS - NUMBER_BITS)) * 0x9e37;
  __asm__("" : "+r"(number)); // now: the value comes last
  uint64_t place = (value >> TIDE_CODE_ALIGN_BITS ^ number) & memo->mask;
  return (struct key){place, tide_mix64(branch << (64 - USED_SHIFT) ^ value << TIDE_WHERE_BITS) |
                                 1ull << USED_SHIFT};
}

static inline bool is_branch(uint64_t what)
{
  return !(what & 1);
}

static inline uint64_t slot_of(const struct tide_memo_table *memo, uint64_t branch)
{
  return memo->origin + (branch & WHERE_MASK) * 4;
}

static inline const struct tide_memo_entry *entry_of(const struct tide_memo_table *memo,
                                                     uint64_t what)
{
  return (const struct tide_memo_entry *)((const char *)memo->entries +
                                          (what & WHERE_MASK) * (sizeof *memo->entries / 2));
}

static inline uint64_t what_is(const struct tide_memo_entry *m)
{
  return 2ull * m->number + 1;
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
    i = (i + 1) & memo->mask;
  }
  *ret_place = i;
  return true;
}

// What came now is foreseen the next time.
static inline void learn_next(struct tide_memo_table *memo, const struct tide_memo_entry *m)
{
  uint16_t *next = &memo->next[memo->history];
  memo->n_misled = *next == m->number ? 0 : memo->n_misled + 1;
  *next = m->number;
  tide_memo_found(memo, m);
}

static inline void note_outer(struct tide_memo_table *memo, const struct tide_memo_entry *m)
{
  memo->likely_outer = memo->last_outer == m->outer ? m->outer : 0;
  memo->n_likely_outer = m->n_outer;
  memo->last_outer = m->outer;
}

const struct tide_memo_entry *tide_memo_search(struct tide_memo_table *memo, uint64_t pc,
                                               uint64_t sp, uint64_t fp,
                                               struct tide_memo_place *ret_place)
{
  struct tide_memo_place place = {.astray = true};
  uint64_t branch = 0, likely_changed = 0, i;
  uint32_t likely = memo->likely_outer;
  if (likely && memo->packed[likely] >= sp)
    likely_changed = tide_memo_outer_changed(memo, likely, memo->n_likely_outer);
  else
    likely = 0;
  struct key key = first_key(memo, pc, sp);
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
      key = next_key(memo, what, *(uint64_t *)slot);
      continue;
    }
    const struct tide_memo_entry *m = entry_of(memo, what);
    if (TIDE_UNLIKELY(!tide_memo_starts_at(memo, m, pc, sp, fp)))
      break;
    uint64_t changed = tide_memo_leaf_changed(m);
    changed |= TIDE_LIKELY(m->outer == likely)
                   ? likely_changed
                   : tide_memo_outer_changed(memo, m->outer, m->n_outer);
    if (TIDE_LIKELY(!(changed << TIDE_WHERE_BITS))) {
      note_outer(memo, m);
      if (memo->n_misled & TIDE_MEMO_RESTS)
        memo->n_misled++;
      else
        learn_next(memo, m);
      return m;
    }
    place = (struct tide_memo_place){.beside = m};
    break;
  }
  *ret_place = place;
  return NULL;
}

// Outer words that all entries of a memo may have.
static uint64_t packed_capacity(const struct tide_memo_table *memo)
{
  return 14ull << memo->log2;
}

struct tide_memo_entry *tide_memo_room(const struct tide_memo_table *memo, uint64_t n)
{
  uint64_t half = 1ull << (memo->log2 - 1);
  if (memo->n_packed + 2 + ((n + 3) & ~3ull) > packed_capacity(memo) || memo->n_used + 2 > half ||
      memo->n_entries == half)
    return NULL;
  struct tide_memo_entry *m = &memo->entries[memo->n_entries];
  m->number = (uint16_t)memo->n_entries;
  return m;
}

static void put_key(struct tide_memo_table *memo, struct key key, uint64_t what)
{
  uint64_t i = key.place;
  while (memo->places[i])
    i = (i + 1) & memo->mask;
  memo->places[i] = key.hash >> USED_SHIFT << USED_SHIFT | what;
  memo->n_used++;
}

static inline uint32_t n_words(const struct tide_memo_entry *m)
{
  return TIDE_MEMO_LEAF_WORDS + m->n_outer;
}

// Word i of an entry, counted from the leaf.
static inline struct tide_word word_of(const struct tide_memo_table *memo,
                                       const struct tide_memo_entry *m, uint32_t i)
{
  if (i < TIDE_MEMO_LEAF_WORDS)
    return tide_word_unpack(m->leaf_words[i], m->sp);
  const uint64_t *base = &memo->packed[m->outer];
  return tide_word_unpack(base[n_words(m) - i], *base);
}

// The first word in which two entries differ, counted from the leaf; false: they differ in none,
// or in where it is.
static bool find_difference(const struct tide_memo_table *memo, const struct tide_memo_entry *a,
                            const struct tide_memo_entry *b, uint32_t *ret_i)
{
  uint32_t n = n_words(a) < n_words(b) ? n_words(a) : n_words(b), i = 0;
  for (; i < n; i++) {
    struct tide_word of_a = word_of(memo, a, i), of_b = word_of(memo, b, i);
    *ret_i = i;
    if (of_a.slot != of_b.slot)
      return false;
    if (of_a.value != of_b.value)
      return true;
  }
  return false;
}

// Can a branch name it?
static bool is_near(const struct tide_memo_table *memo, uint64_t slot)
{
  uint64_t offset = slot - memo->origin;
  return offset / 4 <= WHERE_MASK && !(offset & 7);
}

// Which word of an entry is in a slot; as many as it has: none.
static uint32_t index_of(const struct tide_memo_table *memo, const struct tide_memo_entry *m,
                         uint64_t slot)
{
  uint32_t i = 0;
  while (i < n_words(m) && word_of(memo, m, i).slot != slot)
    i++;
  return i;
}

// A new branch before what is in place i, old_what:
//
//     before: place i --> old_what
//     after:  place i --> branch: the word of `there` and `here`
//                           |-- it is there.value --> old_what
//                           |-- it is here.value  --> new_what
//
// Gives the branch's index.
static uint64_t insert_branch(struct tide_memo_table *memo, uint64_t i, struct tide_word there,
                              struct tide_word here, uint64_t new_what)
{
  uint64_t old_what = memo->places[i] & WHAT_MASK, index = ++memo->n_branches;
  uint64_t branch = (here.slot - memo->origin) / 4 | index << NUMBER_SHIFT;
  for (int shift = 1; shift < SHIFTS; shift++) {
    uint64_t a = next_key(memo, branch, there.value).place,
             b = next_key(memo, branch, here.value).place;
    if (!memo->places[a] && !memo->places[b] && a != b)
      break;
    branch += 1ull << (NUMBER_SHIFT + INDEX_BITS);
  }
  memo->places[i] = memo->places[i] - old_what + branch;
  put_key(memo, next_key(memo, branch, there.value), old_what);
  put_key(memo, next_key(memo, branch, here.value), new_what);
  return index;
}

// Follows near's way, from a first key on, to where m must leave it. False: that way is not what it
// was.
static bool file_beside(struct tide_memo_table *memo, const struct tide_memo_entry *near,
                        const struct tide_memo_entry *m, struct key key)
{
  uint32_t difference;
  uint64_t i;
  if (!find_difference(memo, near, m, &difference))
    return false;
  struct tide_word here = word_of(memo, m, difference);
  if (!is_near(memo, here.slot))
    return false;
  while (find_place(memo, key, &i)) {
    uint64_t what = memo->places[i];
    if (!is_branch(what) && entry_of(memo, what) != near)
      return false;
    uint32_t at = is_branch(what) ? index_of(memo, near, slot_of(memo, what)) : n_words(near);
    if (at > difference) {
      uint64_t index = insert_branch(memo, i, word_of(memo, near, difference), here, what_is(m));
      memo->behind[index] = (uint32_t)(near - memo->entries);
      return true;
    }
    key = next_key(memo, what, word_of(memo, at < difference ? near : m, at).value);
    if (at == difference && find_place(memo, key, &i))
      return false;
    if (at == difference) {
      put_key(memo, key, what_is(m));
      return true;
    }
  }
  return false;
}

// The n words farther out than those. False: one is too far away.
static bool pack_outer_words(const struct tide_memo_table *memo, struct tide_memo_entry *m,
                             uint32_t n)
{
  const struct tide_word *words = memo->words;
  uint32_t n_repeated = -n & 3;
  m->outer = 1 + memo->n_packed; // 0 is none
  m->n_outer = (uint8_t)(n + n_repeated);
  uint64_t *base = &memo->packed[m->outer], *to = base + 1;
  *base = words[0].slot;
  for (uint32_t i = 1; i < n; i++)
    *base = words[i].slot < *base ? words[i].slot : *base;
  for (uint32_t i = 0; i < m->n_outer; i++)
    if (!tide_word_pack(words[i < n_repeated ? 0 : i - n_repeated], *base, to++))
      return false;
  return true;
}

// Stacks that differ in their innermost frames alone, as most of a program's do, then take a line
// each, not four, and what is compared again and again is near.
static void share_outer_words(struct tide_memo_table *memo, struct tide_memo_entry *m)
{
  const uint64_t *own = &memo->packed[m->outer];
  uint64_t n = 1ull + m->n_outer, hash = n;
  for (uint64_t i = 0; i < n; i++)
    hash = tide_mix64(hash ^ own[i]);
  uint16_t *alike = &memo->alike[hash >> 32 & memo->mask / 4];
  const struct tide_memo_entry *other = &memo->entries[*alike];
  if (other->n_outer == m->n_outer && !memcmp(&memo->packed[other->outer], own, n * sizeof *own)) {
    m->outer = other->outer;
    return;
  }
  *alike = m->number;
  memo->n_packed += (uint32_t)n;
}

// The words next to the leaf. False: one is too far away.
static bool pack_leaf_words(const struct tide_memo_table *memo, struct tide_memo_entry *m,
                            uint64_t n)
{
  for (uint64_t i = 0; i < TIDE_MEMO_LEAF_WORDS; i++)
    if (!tide_word_pack(memo->words[i < n ? n - 1 - i : 0], m->sp, &m->leaf_words[i]))
      return false;
  return true;
}

void tide_memo_file(struct tide_memo_table *memo, struct tide_memo_entry *m, uint64_t n,
                    const struct tide_memo_place *place)
{
  m->outer = m->n_outer = 0;
  if (place->astray || !pack_leaf_words(memo, m, n))
    return;
  if (n > TIDE_MEMO_LEAF_WORDS && !pack_outer_words(memo, m, (uint32_t)n - TIDE_MEMO_LEAF_WORDS))
    return;
  if (!memo->origin)
    memo->origin = (m->sp & ~7ull) - (1ull << 30);
  struct key key = first_key(memo, m->pc, m->sp);
  if (!place->beside)
    put_key(memo, key, what_is(m));
  else if (!file_beside(memo, place->beside, m, key))
    return;
  memo->n_entries++;
  if (m->n_outer)
    share_outer_words(memo, m);
}

static uint64_t lay(void *ret_array, uint64_t at, uint64_t bytes)
{
  memcpy(ret_array, &at, sizeof at); // a pointer of whatever type
  return at + ((bytes + 63) & ~63ull);
}

// Lays the arrays out from an address on; gives where they end.
static uint64_t lay_out(struct tide_memo_table *memo, uint64_t at)
{
  uint64_t n = memo->mask + 1;
  at = lay(&memo->places, at, n * sizeof *memo->places);
  at = lay(&memo->entries, at, n / 2 * sizeof *memo->entries);
  at = lay(&memo->packed, at, packed_capacity(memo) * sizeof *memo->packed);
  at = lay(&memo->fps, at, n / 2 * sizeof *memo->fps);
  at = lay(&memo->words, at, TIDE_MEMO_WORDS * sizeof *memo->words);
  at = lay(&memo->behind, at, n / 2 * sizeof *memo->behind);
  at = lay(&memo->next, at, n * sizeof *memo->next);
  return lay(&memo->alike, at, n / 4 * sizeof *memo->alike);
}

bool tide_memo_make(struct tide_memo_table *memo, uint32_t log2)
{
  struct tide_memo_table made = {.log2 = log2, .mask = (1ull << log2) - 1, .n_entries = 1};
  char *p = tide_sys_map_private(lay_out(&made, 0));
  if (!p)
    return false;
  lay_out(&made, (uint64_t)p);
  *memo = made;
  return true;
}

bool tide_memo_grow(struct tide_memo_table *memo)
{
  struct tide_memo_table old = *memo, sizes = old;
  if (old.log2 >= TIDE_MEMO_LAST_LOG2 || !tide_memo_make(memo, old.log2 + TIDE_MEMO_GROWS_BY))
    return false;
  tide_sys_unmap(old.places, lay_out(&sizes, 0));
  return true;
}

void tide_memo_empty(struct tide_memo_table *memo)
{
  memset(memo->places, 0, (memo->mask + 1) * sizeof *memo->places);
  memset(memo->next, 0, (memo->mask + 1) * sizeof *memo->next);
  memset(memo->alike, 0, (memo->mask + 1) / 4 * sizeof *memo->alike);
  memo->n_used = memo->n_branches = memo->n_packed = 0;
  memo->last_outer = memo->likely_outer = 0;
  memo->n_entries = 1;
  memo->origin = 0;
}
