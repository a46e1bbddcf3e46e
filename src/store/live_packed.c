// SPDX-License-Identifier: Apache-2.0
//
// Packed tables: a word for each block, then the kinds of block there are.
//
//   word | word | ... | base | kind 1 | kind 2 | ...
//     word   | birth, since base | 12 of interval | kind | rest of the key | words from home |
//     kind   | what (live_map.h)
//
// A key's home is a word, in proportion to the address: of n words, key * n / 2048. What is left
// over tells the keys of one home apart, and of it so many bits as do: each next key leaves n more.
// Where its home is taken a key is in one of the seven words behind, and nowhere else, whatever has
// come and gone: a word is 0 again when its block goes.
//
// Tag and kind take what bits they need; the birth has the others, 36 at least where it had 41 in a
// slot, which is a day to weeks. It counts from the table's base: most of that lies before the
// latest block that was there when the table was made. A block that was born too early or too late
// for its table has no place there, as one of a kind too many.
//
// Tried: a word for every 8 to 128 bytes. It is found at once, by 230 instructions (20 to 50 ns)
// less for a random replacement, but of 48 bytes to a block a third of the words stayed empty, and
// mixed sizes took nearly what hashed tables do. A line of eight words and the line behind took 230
// more.
#include "store/live_inside.h"

#include "store/live.h"

enum {
  KIND_PROBE = 16,
  AWAY_BITS = 3,
  LANES = TIDE_PACKED_LANES,
  BORN_BITS = 64 - TIDE_LIVE_BORN_SHIFT,
};
#define KEY_FIELD (TIDE_LIVE_KEYS - 1ull)
#define INTERVAL_FIELD ((1ull << TIDE_LIVE_INTERVAL_BITS) - 1)

static const uint8_t kind_lines[1 << TIDE_PACKED_KIND_BITS] = {1, 2, 3, 5, 8, 12, 16, 24};

// A packed table taken apart.
struct packed {
  uint64_t *words, *kinds;   // kinds[0] is the base
  uint32_t n_words, n_kinds; // with the base
  uint32_t rest_shift;       // what is left of a key, without bits that tell no keys apart
  uint32_t tag_bits, kind_bits;
};

TIDE_HOT struct packed packed_of(uint64_t table)
{
  uint32_t n_words = (((uint32_t)table >> 2 & (TIDE_PACKED_MAX_LINES - 1)) + 1) * LANES;
  uint32_t n_kinds = kind_lines[table >> 9 & ((1 << TIDE_PACKED_KIND_BITS) - 1)] * LANES;
  uint32_t rest_shift = tide_bits(n_words) - 1;
  uint64_t *words = (uint64_t *)TIDE_TABLE_ADDRESS(table);
  return (struct packed){
      .words = words,
      .kinds = words + n_words,
      .n_words = n_words,
      .n_kinds = n_kinds,
      .rest_shift = rest_shift,
      .tag_bits = AWAY_BITS + TIDE_LIVE_KEY_BITS - rest_shift,
      .kind_bits = tide_bits(n_kinds - 1),
  };
}

uint64_t tide_packed_word(const void *address, struct tide_packed_shape shape)
{
  uint64_t size = 0;
  while (kind_lines[size] < shape.kind_lines)
    size++;
  return (uint64_t)address << 16 | TIDE_TABLE_PACKED | size << 9 | (uint64_t)(shape.lines - 1) << 2;
}

uint32_t tide_packed_kind_lines(uint32_t n)
{
  for (uint32_t i = 0; i < sizeof kind_lines; i++)
    if (kind_lines[i] >= n)
      return kind_lines[i];
  return 0;
}

struct tide_packed_shape tide_packed_shape_of(uint64_t table)
{
  struct packed p = packed_of(table);
  return (struct tide_packed_shape){p.n_words / LANES, p.n_kinds / LANES};
}

static uint32_t birth_shift(const struct packed *p)
{
  return p->tag_bits + p->kind_bits + TIDE_LIVE_INTERVAL_BITS;
}

// Since the base, in units of births.
static uint64_t age_of(const struct packed *p, uint64_t when)
{
  return ((when >> TIDE_LIVE_BORN_SHIFT) - p->kinds[0]) & ((1ull << BORN_BITS) - 1);
}

static bool has_time(const struct packed *p, uint64_t when)
{
  return !(age_of(p, when) >> (64 - birth_shift(p)));
}

void tide_packed_begin(uint64_t table, uint64_t newest)
{
  struct packed p = packed_of(table);
  // An eighth of the time is to come.
  p.kinds[0] = (newest >> TIDE_LIVE_BORN_SHIFT) - (7ull << (61 - birth_shift(&p)));
}

// Where a key may be: its home, and what its tag is there.
struct spot {
  uint32_t home;
  uint64_t tag;
};

TIDE_HOT struct spot spot_of(const struct packed *p, uint64_t key)
{
  uint64_t product = key * p->n_words;
  return (struct spot){(uint32_t)(product >> TIDE_LIVE_KEY_BITS),
                       (product & KEY_FIELD) >> p->rest_shift << AWAY_BITS};
}

// The key of a tag in the word of that number; nonsense has none: TIDE_LIVE_KEYS.
static uint64_t key_of(const struct packed *p, uint32_t i, uint64_t tag)
{
  uint32_t away = tag % TIDE_PACKED_REACH;
  uint64_t home = i >= away ? i - away : i + p->n_words - away;
  uint64_t product = (home << TIDE_LIVE_KEY_BITS) + (tag >> AWAY_BITS << p->rest_shift);
  uint64_t key = (product + p->n_words - 1) / p->n_words;
  return key * p->n_words >> TIDE_LIVE_KEY_BITS == home ? key : TIDE_LIVE_KEYS;
}

TIDE_HOT uint64_t *word_at(const struct packed *p, struct spot spot, uint32_t away)
{
  uint32_t i = spot.home + away;
  return &p->words[i < p->n_words ? i : i - p->n_words];
}

// The word of a key that is there; NULL: it is not. Then *ret_empty is one that it could have, so
// many words from home; NULL: all are others'.
struct room {
  uint64_t *word, away;
};

TIDE_HOT uint64_t *word_of(const struct packed *p, struct spot spot, struct room *ret_empty)
{
  const uint64_t mask = (1ull << p->tag_bits) - 1, *end = p->words + p->n_words;
  uint64_t *at = p->words + spot.home;
  ret_empty->word = NULL;
  for (uint32_t away = 0; away < TIDE_PACKED_REACH; away++) {
    uint64_t word = tide_load_relaxed(at);
    if (word && !((word ^ (spot.tag + away)) & mask))
      return at;
    if (!word && !ret_empty->word)
      *ret_empty = (struct room){at, away};
    at = at + 1 == end ? p->words : at + 1;
  }
  return NULL;
}

static bool entry_at(const struct packed *p, uint64_t *slot, struct tide_entry *ret)
{
  uint64_t word = tide_load_acquire(slot), tag = word & ((1ull << p->tag_bits) - 1);
  uint64_t kind = word >> p->tag_bits & ((1ull << p->kind_bits) - 1);
  uint64_t interval = word >> (p->tag_bits + p->kind_bits) & INTERVAL_FIELD;
  // One without an interval is about to be written.
  if (!kind || kind >= p->n_kinds || !interval)
    return false;
  uint64_t key = key_of(p, (uint32_t)(slot - p->words), tag);
  uint64_t what = tide_load_relaxed(&p->kinds[kind]);
  uint64_t born = p->kinds[0] + (word >> birth_shift(p));
  *ret = (struct tide_entry){
      .key = key,
      .what = what,
      .when = born << TIDE_LIVE_BORN_SHIFT | interval << TIDE_LIVE_KEY_BITS | key,
      .lives = slot,
  };
  return what && key < TIDE_LIVE_KEYS;
}

bool tide_packed_at(uint64_t table, uint32_t i, struct tide_entry *ret_entry)
{
  struct packed p = packed_of(table);
  return entry_at(&p, &p.words[i], ret_entry);
}

bool tide_packed_find(uint64_t table, uint64_t key, struct tide_entry *ret_entry)
{
  struct packed p = packed_of(table);
  struct room room;
  uint64_t *word = word_of(&p, spot_of(&p, key), &room);
  return word && entry_at(&p, word, ret_entry);
}

// The number of a kind, which is added if it is new; 0: there is no room for it.
static uint64_t kind_of(const struct packed *p, uint64_t what)
{
  const uint32_t n = p->n_kinds - 1;
  uint32_t at = (uint32_t)((uint64_t)tide_kind_hash(what) * n >> 32);
  for (uint32_t i = 0; i < KIND_PROBE && i < n; i++) {
    uint64_t *kind = &p->kinds[1 + at], there = tide_load_relaxed(kind);
    if (!there &&
        __atomic_compare_exchange_n(kind, &there, what, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return at + 1;
    if (there == what)
      return at + 1;
    at = at + 1 == n ? 0 : at + 1;
  }
  return 0;
}

bool tide_packed_has_kind(uint64_t table, const struct tide_newcomer *block)
{
  struct packed p = packed_of(table);
  return has_time(&p, block->when) && kind_of(&p, block->what);
}

bool tide_packed_has_room(uint64_t table, const struct tide_newcomer *block)
{
  struct packed p = packed_of(table);
  struct room room;
  return tide_packed_has_kind(table, block) &&
         (word_of(&p, spot_of(&p, block->key), &room) || room.word);
}

// A word that is there already is of a block whose end was not seen.
bool tide_packed_claim(uint64_t table, const struct tide_newcomer *block, uint64_t **ret_word)
{
  struct packed p = packed_of(table);
  struct spot spot = spot_of(&p, block->key);
  struct room room;
  uint64_t kind = has_time(&p, block->when) ? kind_of(&p, block->what) : 0, none = 0;
  uint64_t *own = kind ? word_of(&p, spot, &room) : NULL;
  if (TIDE_UNLIKELY(own)) {
    uint64_t tag = tide_load_relaxed(own) & ((1ull << p.tag_bits) - 1);
    tide_store_relaxed(own, kind << p.tag_bits | tag);
    *ret_word = own;
    return true;
  }
  for (; kind && room.word; none = 0, word_of(&p, spot, &room)) {
    *ret_word = room.word;
    uint64_t claimed = kind << p.tag_bits | spot.tag | room.away;
    if (__atomic_compare_exchange_n(room.word, &none, claimed, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
      return true; // else another thread was first there
  }
  return false;
}

static uint64_t word_with(const struct packed *p, uint64_t when, uint64_t claimed)
{
  uint64_t interval = when >> TIDE_LIVE_KEY_BITS & INTERVAL_FIELD;
  return age_of(p, when) << birth_shift(p) | interval << (p->tag_bits + p->kind_bits) | claimed;
}

void tide_live_put_packed(const struct tide_place *place, uint64_t when)
{
  struct packed p = packed_of(place->table);
  uint64_t claimed = tide_load_relaxed(place->word) & ((1ull << (p.tag_bits + p.kind_bits)) - 1);
  tide_store_release(place->word, word_with(&p, when, claimed));
}

bool tide_packed_fill(uint64_t table, const struct tide_entry *e)
{
  struct packed p = packed_of(table);
  struct spot spot = spot_of(&p, e->key);
  uint64_t kind = has_time(&p, e->when) ? kind_of(&p, e->what) : 0;
  uint32_t away = 0;
  while (away < TIDE_PACKED_REACH && *word_at(&p, spot, away))
    away++;
  if (!kind || away == TIDE_PACKED_REACH)
    return false;
  *word_at(&p, spot, away) = word_with(&p, e->when, kind << p.tag_bits | spot.tag | away);
  return true;
}

bool tide_packed_holds(const struct tide_place *place, const struct tide_live *words)
{
  struct packed p = packed_of(place->table);
  struct tide_entry e;
  return entry_at(&p, place->word, &e) && e.what == words->what && e.when == words->when;
}
