// SPDX-License-Identifier: Apache-2.0
//
// What an event does with the map of live blocks (live_map.h, which draws it): it makes a place for
// a block, or takes a block out. The usual case is inline; live.c has the rest.
#pragma once
#include "store/layout.h"
#include "store/live_map.h"

// apart: the allocator's blocks begin at least 32 bytes apart, as those of glibc do.
void tide_live_init(bool apart);
// In a fork child: forgets every block and every station. wiped: the kernel has wiped the memory.
void tide_live_after_fork(bool wiped);
void tide_live_station_add(struct tide_station *s);
// From now on no system call will be needed to rebuild a table.
void tide_live_confine(void);

// The slow ways of what is below, which say what they do.
bool tide_live_make_slowly(struct tide_station *s, uint64_t addr, struct tide_live words,
                           struct tide_place *ret_place);
bool tide_live_take_slowly(struct tide_station *s, uint64_t addr, struct tide_block *ret_block);
// What is known of a block, which stays there; false: nothing.
bool tide_live_look(struct tide_station *s, uint64_t addr, struct tide_block *ret_block);
void tide_live_large_put(uint64_t addr, uint64_t size); // notes a size of LARGE or more
uint64_t tide_live_large_take(uint64_t addr);
// The block that begins highest at addr or below, of those in the 16 KiB from start on; false: none
// does. start is the beginning of a region.
struct tide_below {
  uint64_t addr, size;
};
bool tide_live_below(struct tide_station *s, uint64_t start, uint64_t addr, struct tide_below *ret);
// For a thread that is at work already, interrupted. False: not known, or not to be had now.
bool tide_live_take_as_guest(uint64_t addr, struct tide_block *ret_block);

// Where nothing is.
extern uint64_t tide_live_nowhere;

// Does a place that is not in a direct table still hold what was put there (tide_live_put_at())? If
// so, we are in its region.
bool tide_live_again(struct tide_station *s, const struct tide_place *p,
                     const struct tide_live *words);

// The slot of an address in the table of that word, if it is direct and open; NULL: it is another.
// odd: the address is an odd multiple of 8.
TIDE_HOT struct tide_live *tide_live_direct_in(uint64_t table, uint64_t number, bool odd)
{
  if (!odd && TIDE_LIKELY(tide_table_is_direct(table)))
    return tide_live_direct(table, number, TIDE_LIVE_DIRECT_SLOTS);
  return TIDE_LIKELY(tide_table_is_fine(table)) && TIDE_LIKELY((number & 1) == odd)
             ? tide_live_direct(table, number, TIDE_LIVE_FINE_SLOTS)
             : NULL;
}

// The slot of an address, if its table is direct and open. Such a table stays for good: no station
// has to name its region. NULL: it is another, or closed, or not there, or tide_live_odd_slot() has
// to tell.
TIDE_HOT struct tide_live *tide_live_direct_slot(uint64_t number)
{
  const uint64_t *region = tide_live_region_if(number, false);
  return TIDE_LIKELY(region) ? tide_live_direct_in(tide_load_acquire(region), number, false) : NULL;
}

// The same of an odd multiple of 8, where those have tables of their own.
TIDE_HOT struct tide_live *tide_live_odd_slot(uint64_t number)
{
  const uint64_t *region = tide_live_region_if(number, true);
  return region ? tide_live_direct_in(tide_load_acquire(region), number, true) : NULL;
}

// The home of a block in a hashed table; we are in its region then. NULL: its table is another one.
TIDE_HOT struct tide_live *tide_live_enter_home(struct tide_station *s, uint64_t number,
                                                struct tide_place *ret_place)
{
  uint64_t *region = tide_live_region_of(number);
  if (TIDE_UNLIKELY(!region))
    return NULL;
  uint64_t table = tide_live_enter(s, region);
  if (TIDE_UNLIKELY(!tide_table_is_hashed(table))) {
    tide_live_leave(s);
    return NULL;
  }
  struct tide_live *slots = TIDE_TABLE_ADDRESS(table);
  if (!slots)
    __builtin_unreachable();
  struct tide_live *home = &slots[tide_live_home_index(table, number % TIDE_LIVE_KEYS)];
  *ret_place = (struct tide_place){{home}, region, table};
  return home;
}

// The slot of a key in the line of its home, which is at hand; NULL: it is elsewhere, or nowhere.
TIDE_HOT struct tide_live *tide_live_in_line(struct tide_live *home, uint64_t key)
{
  if (TIDE_LIKELY(tide_when_is_of(tide_load_relaxed(&home->when), key)))
    return home;
  const uint64_t line_bytes = TIDE_LIVE_LANES * sizeof *home;
  struct tide_live *line = (struct tide_live *)((uint64_t)home & ~(line_bytes - 1));
  for (int i = 0; i < TIDE_LIVE_LANES; i++)
    if (tide_when_is_of(tide_load_relaxed(&line[i].when), key))
      return &line[i];
  return NULL;
}

// Makes an empty slot of a hashed table that of a key. False: it was not empty.
TIDE_HOT bool tide_live_claim_slot(struct tide_live *slot, uint64_t key)
{
  uint64_t none = 0, when = tide_live_when(TIDE_FIRST_INTERVAL, 0) | key;
  return __atomic_compare_exchange_n(&slot->when, &none, when, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

// The same for a block just allocated: its home is its own then, or another slot of that line is. A
// home that is empty was never asked for: its key is nowhere else.
TIDE_HOT bool tide_live_claim_home(struct tide_station *s, uint64_t number,
                                   struct tide_place *ret_place)
{
  uint64_t key = number % TIDE_LIVE_KEYS;
  struct tide_live *home = tide_live_enter_home(s, number, ret_place);
  if (TIDE_UNLIKELY(!home))
    return false;
  if (!tide_load_relaxed(&home->when) && TIDE_LIKELY(tide_live_claim_slot(home, key)))
    return true;
  if (TIDE_LIKELY((ret_place->slot = tide_live_in_line(home, key))))
    return true;
  tide_live_leave(s);
  return false;
}

// A place for a block just allocated, of which these words are to be written there (of `when`, at
// least the birth is known); unless it is in a direct table, we are in its region then. False: no
// memory for it, or a thread that was killed has closed the table.
TIDE_HOT bool tide_live_make(struct tide_station *s, uint64_t addr, struct tide_live words,
                             struct tide_place *ret_place)
{
  struct tide_live *slot = tide_live_direct_slot(addr >> 3);
  *ret_place = (struct tide_place){{slot}, NULL, 0};
  return TIDE_LIKELY(slot) || tide_live_make_slowly(s, addr, words, ret_place);
}

// The words of a slot, if they are of a block at this address, and not a large one: a size that is
// not told there, or one of which the end is looked at (touch.h).
TIDE_HOT bool tide_live_words(struct tide_live *slot, uint64_t key, struct tide_live *ret)
{
  const uint32_t large_bits = TIDE_LIVE_CELL_BITS + TIDE_LARGE_BITS;
  *ret = (struct tide_live){tide_load_relaxed(&slot->what), tide_load_relaxed(&slot->when)};
  return TIDE_LIKELY(tide_when_key(ret->when) == key) &&
         TIDE_LIKELY(!((ret->what - 1) >> large_bits));
}

// The slot of a block in a direct table, and what is there. NULL: it has to be looked for.
TIDE_HOT struct tide_live *tide_live_find_quickly(uint64_t addr, struct tide_live *ret_words)
{
  uint64_t number = tide_live_number(addr);
  struct tide_live *slot =
      TIDE_LIKELY(tide_live_plausible(number)) ? tide_live_direct_slot(number) : NULL;
  return TIDE_LIKELY(slot) && tide_live_words(slot, number % TIDE_LIVE_KEYS, ret_words) ? slot
                                                                                        : NULL;
}

// What is known of a block, which is forgotten; false: nothing.
TIDE_HOT bool tide_live_take(struct tide_station *s, uint64_t addr, struct tide_block *ret_block)
{
  struct tide_live words;
  struct tide_live *slot = tide_live_find_quickly(addr, &words);
  if (TIDE_UNLIKELY(!slot))
    return tide_live_take_slowly(s, addr, ret_block);
  tide_store_relaxed(&slot->what, 0);
  *ret_block = tide_live_block(words.what, words.when);
  return true;
}

// How old a block is, in ticks. Threads read the clock by themselves: one may seem to be younger
// than nothing, by a little.
TIDE_HOT int64_t tide_block_age(const struct tide_block *block, uint64_t now)
{
  const uint64_t little = 1ull << 56; // of 2^64, as is all that a birth can be
  uint32_t shift = TIDE_LIVE_BORN_SHIFT - tide_live_unit_bits();
  uint64_t born = block->when >> TIDE_LIVE_BORN_SHIFT << TIDE_LIVE_BORN_SHIFT;
  return (int64_t)((tide_live_born(now) - born + little) >> shift) - (int64_t)(little >> shift);
}

// As it was counted.
TIDE_HOT uint64_t tide_block_birth(const struct tide_block *block, uint64_t now)
{
  return (now - (uint64_t)tide_block_age(block, now)) & TIDE_LIVE_TICK_MASK;
}
