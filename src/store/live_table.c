// SPDX-License-Identifier: Apache-2.0
//
// The forms of a table (drawn in live_map.h): how a key finds its place in each, and how a table is
// filled, and read by whoever replaces it. All a table is told by is its region's word, `table`
// here: address, form and size. Direct and hashed tables have slots of two words, found from the
// key's home on; packed ones (live_packed.c) have a word per slot.
#include "store/live_inside.h"

#include "store/live.h"

struct tide_probe tide_probe_from(uint64_t table, uint64_t key)
{
  uint32_t n = TIDE_TABLE_SLOTS(table) / TIDE_LIVE_LANES;
  uint32_t line = (uint32_t)tide_live_home_index(table, key) / TIDE_LIVE_LANES;
  return (struct tide_probe){line, n, n < TIDE_TABLE_MAX_PROBE ? n : TIDE_TABLE_MAX_PROBE};
}

bool tide_probe_next(struct tide_probe *p)
{
  p->line = p->line + 1 == p->n_lines ? 0 : p->line + 1;
  return --p->left;
}

static struct tide_live *line_at(uint64_t table, const struct tide_probe *p)
{
  return TIDE_TABLE_ADDRESS(table) + (uint64_t)p->line * TIDE_LIVE_LANES;
}

// Lines fill up in this order and never lose keys: behind one with an empty slot there is nothing.
static struct tide_live *slot_of_key(uint64_t table, uint64_t key)
{
  struct tide_probe p = tide_probe_from(table, key);
  do {
    struct tide_live *line = line_at(table, &p);
    bool room = false;
    for (int i = 0; i < TIDE_LIVE_LANES; i++) {
      uint64_t when = tide_load_relaxed(&line[i].when);
      if (tide_when_is_of(when, key))
        return &line[i];
      room |= !when;
    }
    if (room)
      break;
  } while (tide_probe_next(&p));
  return NULL;
}

// In a line: the slot of a key, or else an empty one, which it becomes; NULL: all are others'.
static struct tide_live *slot_in_line(struct tide_live *line, uint64_t key)
{
  for (;;) {
    struct tide_live *empty = NULL;
    for (int i = TIDE_LIVE_LANES - 1; i >= 0; i--) {
      uint64_t when = tide_load_relaxed(&line[i].when);
      if (tide_when_is_of(when, key))
        return &line[i];
      empty = when ? empty : &line[i];
    }
    if (!empty || tide_live_claim_slot(empty, key))
      return empty; // else another thread was first there
  }
}

// Lines fill up in turn and never lose keys: behind one with an empty slot no key is that was here
// before. NULL: there is no room near its home.
static struct tide_live *slot_near(uint64_t table, uint64_t key)
{
  struct tide_probe p = tide_probe_from(table, key);
  struct tide_live *slot;
  while (!(slot = slot_in_line(line_at(table, &p), key)) && tide_probe_next(&p))
    ;
  return slot;
}

// In a direct table, what is in a key's home has ended.
static bool hashed_claim(uint64_t table, uint64_t key, struct tide_live **ret_slot)
{
  struct tide_live *slot = tide_live_home(table, key);
  // A home that is empty was never asked for: its key is nowhere else.
  bool at_home = table & TIDE_TABLE_DIRECT ||
                 (!tide_load_relaxed(&slot->when) && tide_live_claim_slot(slot, key));
  return (*ret_slot = at_home ? slot : slot_near(table, key));
}

bool tide_table_claim(uint64_t table, const struct tide_newcomer *block,
                      struct tide_place *ret_place)
{
  ret_place->table = table;
  return table & TIDE_TABLE_PACKED ? tide_packed_claim(table, block, &ret_place->word)
                                   : hashed_claim(table, block->key, &ret_place->slot);
}

// As slot_near() does it, where nobody else is and the key is new.
static struct tide_live *empty_slot(uint64_t table, uint64_t key)
{
  struct tide_live *home = tide_live_home(table, key);
  if (!home->when || table & TIDE_TABLE_DIRECT)
    return home;
  struct tide_probe p = tide_probe_from(table, key);
  do {
    struct tide_live *line = line_at(table, &p);
    for (int i = 0; i < TIDE_LIVE_LANES; i++)
      if (!line[i].when)
        return &line[i];
  } while (tide_probe_next(&p));
  return NULL;
}

static bool slot_entry(struct tide_live *slot, struct tide_entry *ret)
{
  uint64_t what = tide_load_relaxed(&slot->what), when = tide_load_relaxed(&slot->when);
  *ret = (struct tide_entry){tide_when_key(when), what, when, &slot->what};
  return what;
}

bool tide_table_find(uint64_t table, uint64_t key, struct tide_entry *ret_entry)
{
  if (!(table & TIDE_TABLE_PACKED)) {
    struct tide_live *slot = slot_of_key(table, key);
    return slot && slot_entry(slot, ret_entry);
  }
  return tide_packed_find(table, key, ret_entry);
}

TIDE_HOT bool next_entry(uint64_t table, uint32_t *i, struct tide_entry *ret)
{
  const uint32_t n = tide_table_n_slots(table);
  if (table & TIDE_TABLE_PACKED) {
    while (*i < n)
      if (tide_packed_at(table, (*i)++, ret))
        return true;
    return false;
  }
  struct tide_live *slots = TIDE_TABLE_ADDRESS(table);
  while (*i < n)
    if (slot_entry(&slots[(*i)++], ret))
      return true;
  return false;
}

bool tide_table_next(uint64_t table, uint32_t *i, struct tide_entry *ret_entry)
{
  return next_entry(table, i, ret_entry);
}

uint32_t tide_table_keys(uint64_t table, uint64_t ret_keys[TIDE_TABLE_KEY_WORDS])
{
  struct tide_entry e;
  uint32_t n = 0;
  for (uint32_t i = 0; next_entry(table, &i, &e); n++)
    ret_keys[e.key / 64] |= 1ull << e.key % 64;
  return n;
}

// Puts a block into a table that is nobody's yet, where its key is new. False: there is no place.
TIDE_HOT bool fill(uint64_t table, const struct tide_entry *e)
{
  if (table & TIDE_TABLE_PACKED)
    return tide_packed_fill(table, e);
  struct tide_live *slot = empty_slot(table, e->key);
  if (slot)
    tide_live_put(slot, (struct tide_live){e->what, e->when});
  return slot;
}

// Will there be a place for that block? In a packed table its kind is there then.
static bool has_room(uint64_t table, const struct tide_newcomer *block)
{
  return table & TIDE_TABLE_PACKED ? tide_packed_has_room(table, block)
                                   : !!empty_slot(table, block->key);
}

bool tide_table_copy(uint64_t from, const struct tide_newcomer *more, uint64_t to)
{
  struct tide_entry e;
  for (uint32_t i = 0; next_entry(from, &i, &e);)
    if (!(more && more->key == e.key) && !fill(to, &e))
      return false;
  return !more || has_room(to, more);
}

uint32_t tide_table_n_used(uint64_t table, uint32_t stride)
{
  const uint64_t *words = (const uint64_t *)TIDE_TABLE_ADDRESS(table);
  const struct tide_live *slots = TIDE_TABLE_ADDRESS(table);
  uint32_t n = 0, n_slots = tide_table_n_slots(table);
  if (table & TIDE_TABLE_PACKED)
    for (uint32_t i = 0; i < n_slots; i += stride)
      n += tide_load_relaxed(&words[i]) != 0;
  else
    for (uint32_t i = 0; i < n_slots; i += stride)
      n += tide_load_relaxed(&slots[i].when) != 0;
  return n * stride;
}

uint32_t tide_table_n_slots(uint64_t table)
{
  return table & TIDE_TABLE_PACKED ? tide_packed_shape_of(table).lines * TIDE_PACKED_LANES
                                   : TIDE_TABLE_SLOTS(table);
}

uint32_t tide_table_n_lines(uint64_t table)
{
  if (!(table & TIDE_TABLE_PACKED))
    return TIDE_TABLE_SLOTS(table) / TIDE_LIVE_LANES;
  struct tide_packed_shape shape = tide_packed_shape_of(table);
  return shape.lines + shape.kind_lines;
}

uint64_t tide_table_opened(uint64_t table)
{
  bool direct = table & TIDE_TABLE_DIRECT && TIDE_TABLE_SLOTS(table) == TIDE_LIVE_DIRECT_SLOTS;
  return table | (direct ? TIDE_TABLE_DIRECT_OPEN : TIDE_TABLE_OTHER_OPEN);
}
