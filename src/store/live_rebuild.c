// SPDX-License-Identifier: Apache-2.0
//
// What form and size a table gets, and how its blocks move there. A thread that has found no place
// for a block replaces the region's table by one that fits all its blocks and that one:
//
//     the region's word           threads that come here meanwhile
//     -----------------           ---------------------------------------------------------------
//     old table, open             use it
//     old table, closed           wait until the word is open again (tide_live_wait_for_table)
//       tide_live_quieten()       those who were in it leave
//       take_census()             nobody is in it: its blocks are counted: how many, how far apart
//       replacement()             what follows from that: direct while there is room for roomy
//                                 tables, else packed if that is smaller than hashed; then copied
//     new table, open             use it; the old one is freed, unless somebody never left
//
// A region's first table follows from what this thread's latest one turned out to have use for
// (look_back, glance_back): neighbours are alike. Alike is not the same: of blocks of many sizes
// one region has 60 and the next 190, and a table made for as many as the last one had was replaced
// about as often as not, at 20 to 60 thousand instructions. So where there will be more than a few
// blocks and no direct table, the first is a draft, with a slot at home for each; when the thread
// opens its next region, that one is full, and is replaced by what fits its blocks, once:
//
//     region 7   | draft: 128 lines | --> | 46 lines |
//     region 8             region 8 opens: | draft: the same memory |  --> ...
#include "store/live_inside.h"

#include "store/store.h"

#include <string.h>

enum {
  TIGHT_PROBE = 2, // lines
  DIRECT_LINES = TIDE_LIVE_DIRECT_SLOTS / TIDE_LIVE_LANES,
  FINE_LINES = TIDE_LIVE_FINE_SLOTS / TIDE_LIVE_LANES,
  DRAFT_LINES = 16,   // from so many on a region's first table is a draft
  CROWDED_LINES = 24, // of a hashed table: with less, packed ones would gain little and cost time
  STRIDE = 8,         // one in so many slots is looked at where a guess will do
  MAX_UNASKED = 7,    // regions in a row: a census costs as much as replacing a table
  KIND_BITS = 2048,   // in which kinds are counted
  KEY_WORDS = TIDE_TABLE_KEY_WORDS,
  LINE_KINDS = TIDE_TABLE_LINE / sizeof(uint64_t),
};

void tide_live_note_refusal(const void *memory)
{
  if (!memory)
    tide_store_relaxed(&tide_live_map.refused, true);
}

// What a region's word says of a hashed table that is nowhere yet, and closed.
static uint64_t word_of(uint32_t lines, bool scattered)
{
  uint32_t direct_slots = tide_live_map.apart ? TIDE_LIVE_DIRECT_SLOTS : TIDE_LIVE_FINE_SLOTS;
  bool direct = lines * TIDE_LIVE_LANES == direct_slots;
  uint64_t how = scattered ? TIDE_TABLE_SCATTERED : direct ? TIDE_TABLE_DIRECT : 0;
  return (uint64_t)lines * TIDE_LIVE_LANES | how;
}

// How many they are, and where.
struct census {
  uint32_t n;
  uint64_t keys[KEY_WORDS]; // a bit for each that there is
};

// Does none begin within 16 bytes of another, or where they are apart, within 32? As a direct table
// asks for.
static bool are_spaced(const uint64_t keys[KEY_WORDS])
{
  const uint64_t twos = 0x5555555555555555, fours = 0x1111111111111111;
  bool spaced = true;
  for (uint32_t i = 0; i < KEY_WORDS; i++) {
    uint64_t of_16 = (keys[i] | keys[i] >> 1) & twos;
    spaced &= !(keys[i] & keys[i] >> 1 & twos);
    spaced &= !(tide_live_map.apart && of_16 & of_16 >> 2 & fours);
  }
  return spaced;
}

// Of what lives in a table and what is to come (NULL: nobody), which may have come before: then its
// end was not seen.
static void take_census(uint64_t table, const struct tide_newcomer *more, struct census *ret)
{
  *ret = (struct census){0};
  ret->n = tide_table_keys(table, ret->keys);
  if (more) {
    uint64_t *word = &ret->keys[more->key / 64], bit = 1ull << more->key % 64;
    ret->n += !(*word & bit);
    *word |= bit;
  }
}

static uint64_t first_key(const struct census *c)
{
  uint32_t i = 0;
  while (i < KEY_WORDS - 1 && !c->keys[i])
    i++;
  return i * 64 + (c->keys[i] ? (uint64_t)__builtin_ctzll(c->keys[i]) : 0);
}

static uint64_t last_key(const struct census *c)
{
  uint32_t i = KEY_WORDS - 1;
  while (i && !c->keys[i])
    i--;
  return i * 64 + (c->keys[i] ? 63 - (uint64_t)__builtin_clzll(c->keys[i]) : 0);
}

static uint32_t count_kind(uint64_t kinds[KIND_BITS / 64], uint64_t what)
{
  uint32_t kind = tide_kind_hash(what) % KIND_BITS;
  uint64_t bit = 1ull << kind % 64;
  bool known = kinds[kind / 64] & bit;
  kinds[kind / 64] |= bit;
  return !known;
}

// Of how many kinds are those of a census?
static uint32_t count_kinds(uint64_t table, const struct tide_newcomer *more)
{
  uint64_t kinds[KIND_BITS / 64] = {0};
  uint32_t n = 0;
  struct tide_entry e;
  for (uint32_t i = 0; tide_table_next(table, &i, &e);)
    if (!(more && more->key == e.key))
      n += count_kind(kinds, e.what);
  return n + (more ? count_kind(kinds, more->what) : 0);
}

// A slot for each and an eighth more: nearly all are at home then.
static uint32_t lines_for(uint64_t n_blocks)
{
  uint64_t slots = n_blocks + n_blocks / 8;
  uint64_t lines = (slots + TIDE_LIVE_LANES - 1) / TIDE_LIVE_LANES;
  return lines < 1 ? 1 : lines < TIDE_TABLE_MAX_LINES ? (uint32_t)lines : TIDE_TABLE_MAX_LINES;
}

// A heap that grows upwards: the rest of the region will look like what there is of it. Not taken
// for granted: the table grows threefold at most.
static uint32_t lines_wanted(const struct census *c)
{
  uint64_t first = first_key(c), last = last_key(c);
  uint64_t span = last - first + 1, rest = TIDE_LIVE_KEYS - 1 - last;
  uint64_t n = c->n;
  if (n >= TIDE_LIVE_LANES && last > first)
    n += rest * (n - 1) / span;
  uint64_t most = c->n * 3ull + TIDE_LIVE_LANES;
  return lines_for(n < most ? n : most);
}

// A roomy table has a slot for every address at which blocks may begin, which makes it direct.
static uint32_t roomy_lines(void)
{
  return tide_live_map.apart ? DIRECT_LINES : FINE_LINES;
}

static bool is_roomy(uint64_t table)
{
  return !(table & (TIDE_TABLE_PACKED | TIDE_TABLE_SCATTERED)) &&
         TIDE_TABLE_SLOTS(table) >= roomy_lines() * TIDE_LIVE_LANES;
}

// A draft is as large as a direct table, but hashed, and may so be replaced.
static uint64_t draft_shape(void)
{
  return word_of(roomy_lines(), false) & ~TIDE_TABLE_DIRECT;
}

static bool is_draft(uint64_t table)
{
  const uint64_t form = TIDE_TABLE_PACKED | TIDE_TABLE_SCATTERED | TIDE_TABLE_DIRECT;
  return !(table & form) && TIDE_TABLE_SLOTS(table) == TIDE_TABLE_SLOTS(draft_shape());
}

// May a table be roomy, instead of so many lines? Where there are more than a few blocks, while all
// such tables together do not take too much more than they need.
static bool roomy_is_given(uint32_t roomy, uint32_t lines)
{
  if (lines > roomy || lines < TIDE_LIVE_A_FEW)
    return false;
  const int64_t more = (int64_t)(roomy - lines) * TIDE_TABLE_LINE;
  if (tide_load_relaxed(&tide_live_map.direct_left) < more)
    return false;
  __atomic_fetch_sub(&tide_live_map.direct_left, more, __ATOMIC_RELAXED);
  return true;
}

// Takes a slot in so many lines from a key's home on. fill: slots taken in each.
TIDE_HOT bool take_room(uint8_t *fill, uint64_t table, uint64_t key, uint32_t n_lines)
{
  uint64_t home = tide_live_home_index(table, key) / TIDE_LIVE_LANES;
  if (TIDE_LIKELY(fill[home] < TIDE_LIVE_LANES)) {
    fill[home]++;
    return true;
  }
  struct tide_probe p = tide_probe_from(table, key);
  bool room;
  p.left = p.left < n_lines ? p.left : n_lines;
  while (!(room = fill[p.line] < TIDE_LIVE_LANES) && tide_probe_next(&p))
    ;
  fill[p.line] += room;
  return room;
}

// Would all find room in a hashed table, in so many lines from home on? By rising key and the
// newcomer last: tide_table_copy() has another order, and the last word.
static bool fits(const struct census *c, const struct tide_newcomer *more, uint64_t to,
                 uint32_t n_lines)
{
  uint8_t fill[TIDE_TABLE_MAX_LINES];
  memset(fill, 0, tide_table_n_lines(to));
  for (uint32_t i = 0; i < KEY_WORDS; i++)
    for (uint64_t left = c->keys[i]; left; left &= left - 1) {
      uint64_t key = i * 64 + (uint64_t)__builtin_ctzll(left);
      if (!(more && more->key == key) && !take_room(fill, to, key, n_lines))
        return false;
    }
  return !more || take_room(fill, to, more->key, n_lines);
}

// The shape of a hashed table: its size, and whether it is scattered. If nearly all are at home it
// may be as small as that; else an eighth more is tried at once, scattered: less would seldom do.
// The largest has a slot for every key, so there always is one.
static uint64_t hashed_shape(const struct census *c, const struct tide_newcomer *more,
                             uint32_t lines)
{
  uint64_t shape = word_of(tide_table_lines(lines), false);
  if (fits(c, more, shape, TIGHT_PROBE))
    return shape;
  for (lines += lines / 8;; lines += 1 + lines / 32) {
    if (lines >= TIDE_TABLE_MAX_LINES)
      return word_of(TIDE_TABLE_MAX_LINES, false);
    lines = tide_table_lines(lines);
    shape = word_of(lines, true);
    if (fits(c, more, shape, TIDE_TABLE_MAX_PROBE))
      return shape;
  }
}

// How many lines of kinds: twice those there are, and the base. Where they had no room, twice what
// it was: dead ones are forgotten only here. 0: too many.
static uint32_t kind_lines_for(uint64_t from, const struct tide_newcomer *more, uint32_t n_kinds)
{
  uint32_t lines = (2 * n_kinds + LINE_KINDS) / LINE_KINDS, least = 0;
  if (more && from & TIDE_TABLE_PACKED && !tide_packed_has_kind(from, more))
    least = 2 * tide_packed_shape_of(from).kind_lines;
  return tide_packed_kind_lines(lines > least ? lines : least);
}

// From how many lines of words on: one for each block. Where one had no word, an eighth more than
// there were.
static uint32_t packed_lines_from(uint64_t from, const struct tide_newcomer *more, uint32_t lines)
{
  uint32_t each = (lines * 4 + 8) / 9; // of hashed ones there was an eighth more
  if (more && from & TIDE_TABLE_PACKED && tide_packed_has_kind(from, more)) {
    uint32_t before = tide_packed_shape_of(from).lines;
    each = each > before + before / 8 ? each : before + before / 8;
  }
  return each > TIDE_PACKED_MIN_LINES ? each : TIDE_PACKED_MIN_LINES;
}

// Would all have a word in so many lines? By rising key.
static bool fits_packed(const struct census *c, uint32_t n_lines)
{
  const uint32_t n = n_lines * TIDE_PACKED_LANES;
  bool taken[TIDE_PACKED_MAX_LINES * TIDE_PACKED_LANES + TIDE_PACKED_REACH] = {0};
  for (uint32_t i = 0; i < KEY_WORDS; i++)
    for (uint64_t left = c->keys[i]; left; left &= left - 1) {
      uint64_t key = i * 64 + (uint64_t)__builtin_ctzll(left);
      uint64_t home = key * n >> TIDE_LIVE_KEY_BITS, at = home;
      while (taken[at])
        at++;
      if (at >= home + TIDE_PACKED_REACH)
        return false;
      taken[at] = true;
    }
  // What lies beyond the end begins again.
  for (uint32_t i = 0; i < TIDE_PACKED_REACH; i++)
    if (taken[n + i] && taken[i])
      return false;
  return true;
}

// The shape of a packed table in place of a hashed one of so many lines; 0: there is none, or none
// that takes a good deal less.
static uint64_t packed_shape(uint64_t from, const struct tide_newcomer *more,
                             const struct census *c, uint32_t lines)
{
  uint32_t most = from & TIDE_TABLE_PACKED ? lines : lines * 3 / 4;
  uint32_t n = packed_lines_from(from, more, lines);
  if (lines < CROWDED_LINES || n >= most)
    return 0;
  uint32_t kinds = kind_lines_for(from, more, count_kinds(from, more));
  for (; kinds && n <= TIDE_PACKED_MAX_LINES && n + kinds <= most; n += 1 + n / 16) {
    uint32_t given = tide_table_lines(n + kinds) - kinds;
    n = given < TIDE_PACKED_MAX_LINES ? given : n;
    if (fits_packed(c, n))
      return tide_packed_word(NULL, (struct tide_packed_shape){n, kinds});
  }
  return 0;
}

// `when` of the latest of those of a census.
static uint64_t newest_of(uint64_t table, const struct tide_newcomer *more)
{
  uint64_t newest = more ? more->when : 0;
  bool known = more;
  struct tide_entry e;
  for (uint32_t i = 0; tide_table_next(table, &i, &e); known = true)
    newest = !known || (int64_t)(e.when - newest) > 0 ? e.when : newest;
  return newest;
}

// A table of that shape with what lives in another; 0: no memory, or no room for all.
static uint64_t table_new(uint64_t shape, uint64_t from, const struct tide_newcomer *more)
{
  void *memory = tide_table_new(tide_table_n_lines(shape));
  tide_live_note_refusal(memory);
  if (!memory)
    return 0;
  uint64_t table = shape | (uint64_t)memory << 16;
  if (shape & TIDE_TABLE_PACKED)
    tide_packed_begin(table, newest_of(from, more));
  if (tide_table_copy(from, more, table))
    return table;
  tide_table_free(memory, tide_table_n_lines(shape));
  return 0;
}

// A small table that has no room although what lives would have is full of keys whose blocks have
// ended. Such addresses come back: with no more lines than before it would soon be full again, and
// so on forever.
static uint32_t lines_with_ended(uint64_t old, uint32_t lines)
{
  uint32_t before = tide_table_n_lines(old);
  return old & TIDE_TABLE_PACKED || lines > before || before >= TIDE_LIVE_A_FEW ? lines
                                                                                : 2 * before;
}

static uint64_t replacement(uint64_t old, const struct tide_newcomer *more)
{
  struct census c;
  take_census(old, more, &c);
  uint32_t hashed = more ? lines_with_ended(old, lines_wanted(&c)) : lines_for(c.n);
  uint64_t shape = packed_shape(old, more, &c, hashed), table = 0;
  bool spaced = are_spaced(c.keys);
  if (more && spaced && roomy_is_given(roomy_lines(), shape ? tide_table_n_lines(shape) : hashed))
    return table_new(word_of(roomy_lines(), false), old, more);
  if (shape)
    table = table_new(shape, old, more);
  if (table)
    return table;
  for (; !table && hashed <= TIDE_TABLE_MAX_LINES; hashed = tide_table_n_lines(shape) + 1) {
    shape = hashed_shape(&c, more, hashed);
    table = table_new(spaced ? shape : shape & ~TIDE_TABLE_DIRECT, old, more);
  }
  return table;
}

bool tide_live_rebuild(struct tide_station *self, uint64_t *region,
                       const struct tide_newcomer *more)
{
  uint64_t old = tide_load_acquire(region), new = 0;
  if (!tide_table_is_open(old))
    return tide_live_wait_for_table(region); // another thread does it
  if (old & TIDE_TABLE_DIRECT)
    return true; // another thread has done it: there is room for everybody, and it stays
  if (!__atomic_compare_exchange_n(region, &old, old & ~TIDE_TABLE_OPEN, false, __ATOMIC_SEQ_CST,
                                   __ATOMIC_RELAXED))
    return true;
  enum tide_quiet quiet = tide_live_quieten(self, region);
  if (quiet != TIDE_BLIND)
    new = replacement(old, more);
  tide_store_release(region, new ? tide_table_opened(new) : old);
  if (new &&quiet == TIDE_QUIET)
    tide_table_free(TIDE_TABLE_ADDRESS(old), tide_table_n_lines(old));
  else if (new)
    tide_add_relaxed(&tide_store.header->n_lost_busy, 1);
  return new;
}

static void ask_for_packed(struct tide_station *s, uint64_t table)
{
  struct census c;
  take_census(table, NULL, &c);
  uint32_t packed = (uint32_t)packed_shape(table, NULL, &c, s->lines);
  if (!packed != !s->packed)
    s->n_same_answers = 0;
  else if (s->n_same_answers < 2 * MAX_UNASKED)
    s->n_same_answers++;
  s->n_unasked = s->n_same_answers / 2;
  s->packed = packed;
}

// What a draft had use for its replacement has.
static void settle_draft(struct tide_station *s)
{
  tide_live_rebuild(s, s->opened, NULL);
  uint64_t table = tide_load_relaxed(s->opened);
  s->lines = tide_table_n_lines(table);
  if (table & TIDE_TABLE_PACKED && s->lines < DRAFT_LINES) // it had use for more
    s->lines = DRAFT_LINES;
  s->packed = 0;
  s->scattered = false;
}

// The region that this thread opened last has shown by now what it had use for. One that was given
// much more is made smaller, unless it is roomy: only the latest of each thread may be too large.
static void look_back(struct tide_station *s)
{
  uint64_t table = s->opened ? tide_live_enter(s, s->opened) : 0;
  if (tide_table_is_open(table) && is_draft(table)) {
    tide_live_leave(s);
    settle_draft(s);
    return;
  }
  if (tide_table_is_open(table)) {
    s->lines = lines_for(tide_table_n_used(table, 1));
    s->scattered = table & TIDE_TABLE_SCATTERED;
    if (!s->n_unasked--)
      ask_for_packed(s, table);
  }
  tide_live_leave(s);
  uint32_t lines = s->packed ? tide_table_n_lines(s->packed) : s->lines;
  if (tide_table_is_open(table) && lines * 4 < tide_table_n_lines(table) * 3 && !is_roomy(table))
    tide_live_rebuild(s, s->opened, NULL);
}

// While a small part of what roomy tables may take is taken, a glance will do: what form a table
// would have if it were not roomy does not matter yet. A thread's first region says nothing: it was
// entered wherever its heap, or that of a fork child's parent, happened to end.
static void glance_back(struct tide_station *s)
{
  uint64_t table = s->n_opened > 1 ? tide_live_enter(s, s->opened) : 0;
  if (tide_table_is_open(table)) {
    uint32_t lines = lines_for(tide_table_n_used(table, is_roomy(table) ? STRIDE : 1));
    s->lines =
        lines < DIRECT_LINES / 2 ? lines : DIRECT_LINES / 2; // packed, it would be about that
    s->packed = 0;
  }
  tide_live_leave(s);
}

bool tide_live_table_first(struct tide_station *s, uint64_t *region)
{
  if (tide_load_relaxed(&tide_live_map.direct_left) > TIDE_LIVE_DIRECT_BYTES / 2)
    glance_back(s);
  else
    look_back(s);
  // Scattered blocks are near their homes if there are more slots than blocks.
  uint32_t lines = s->scattered ? s->lines + s->lines / 8 : s->lines;
  uint64_t shape = word_of(tide_table_lines(lines), s->scattered), none = 0;
  if (roomy_is_given(roomy_lines(), s->packed ? tide_table_n_lines(s->packed) : s->lines))
    shape = word_of(roomy_lines(), false);
  else if (s->lines >= DRAFT_LINES)
    shape = draft_shape();
  lines = tide_table_n_lines(shape);
  void *memory = tide_table_new(lines);
  uint64_t word = tide_table_opened(shape | (uint64_t)memory << 16);
  tide_live_note_refusal(memory);
  if (memory && !__atomic_compare_exchange_n(region, &none, word, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_RELAXED)) {
    tide_table_free(memory, lines); // another thread was first
  } else {
    s->opened = region;
    s->n_opened += s->n_opened < 2;
  }
  tide_store_relaxed(&tide_live_latest, region);
  return memory;
}
