// SPDX-License-Identifier: Apache-2.0
//
// What an event does with the map of live blocks (live_map.h, which draws it): it makes a place for
// a block, or takes a block out. The usual case is inline; live.c has the rest.
#pragma once
#include "store/live_map.h"

// apart: the allocator's blocks begin at least 32 bytes apart, as those of glibc do.
bool tide_live_init(bool apart);
// In a fork child: forgets every block and every station. wiped: the kernel has wiped the memory.
void tide_live_after_fork(bool wiped);
void tide_live_station_add(struct tide_station *s);
// From now on no system call will be needed to rebuild a table.
void tide_live_confine(void);

// The slow ways of what is below, which say what they do.
bool tide_live_make_slowly(struct tide_station *s, uint64_t addr, uint64_t what,
                           struct tide_place *ret_place);
bool tide_live_take_slowly(struct tide_station *s, uint64_t *region, uint64_t addr,
                           struct tide_block *ret_block);
// What is known of a block, which stays there; false: nothing.
bool tide_live_look(struct tide_station *s, uint64_t addr, struct tide_block *ret_block);
void tide_live_large_put(uint64_t addr, uint64_t size); // notes a size of LARGE or more
uint64_t tide_live_large_take(uint64_t addr);
// For a thread that is at work already, interrupted. False: not known, or not to be had now.
bool tide_live_take_as_guest(uint64_t addr, struct tide_block *ret_block);

// Is the place of a block that was here still its place, untouched since? If so, we are in its
// region. The table alone does not tell: it may have been given up and come back with other keys.
TIDE_HOT bool tide_live_again(struct tide_station *s, const struct tide_place *p, uint64_t when)
{
  if (TIDE_LIKELY(tide_live_enter(s, p->region) == p->table) &&
      TIDE_LIKELY(tide_load_relaxed(&p->slot->when) == when))
    return true;
  tide_live_leave(s);
  return false;
}

// The place of a block just allocated, if it is at home there and, but for a direct table, has been
// before; if so, we are in its region.
TIDE_HOT bool tide_live_make_quickly(struct tide_station *s, uint64_t addr, struct tide_place *ret)
{
  uint64_t number = addr >> 3, key = number % TIDE_LIVE_KEYS;
  uint64_t *region = tide_live_region_of(number);
  if (TIDE_UNLIKELY(!region))
    return false;
  uint64_t table = tide_live_enter(s, region);
  if (TIDE_LIKELY(tide_table_is_direct(table))) {
    *ret = (struct tide_place){{tide_live_direct(table, number)}, region, table};
    return true;
  }
  if (TIDE_LIKELY(tide_table_is_hashed(table))) {
    struct tide_live *home = tide_live_home(table, key);
    *ret = (struct tide_place){{home}, region, table};
    if (TIDE_LIKELY(tide_when_is_of(tide_load_relaxed(&home->when), key)))
      return true;
  }
  tide_live_leave(s);
  return false;
}

// The same for any block, of which `what` is to be written there. False: no memory for it, or a
// thread that was killed has closed the table.
TIDE_HOT bool tide_live_make(struct tide_station *s, uint64_t addr, uint64_t what,
                             struct tide_place *ret_place)
{
  return TIDE_LIKELY(tide_live_make_quickly(s, addr, ret_place)) ||
         tide_live_make_slowly(s, addr, what, ret_place);
}

// So that *ret_block may be in registers.
TIDE_HOT bool tide_live_take_elsewhere(struct tide_station *s, uint64_t *region, uint64_t addr,
                                       struct tide_block *ret_block)
{
  struct tide_block found = {0};
  bool known = tide_live_take_slowly(s, region, addr, &found);
  *ret_block = found;
  return known;
}

// What is known of a block, which is forgotten; false: nothing.
TIDE_HOT bool tide_live_take(struct tide_station *s, uint64_t addr, struct tide_block *ret_block)
{
  const uint64_t large = TIDE_LIVE_LARGE << TIDE_LIVE_CELL_BITS;
  uint64_t number = tide_live_number(addr), key = number % TIDE_LIVE_KEYS;
  uint64_t *region = TIDE_LIKELY(tide_live_plausible(number)) ? tide_live_region_of(number) : NULL;
  if (TIDE_UNLIKELY(!region))
    return false;
  uint64_t table = tide_live_enter(s, region);
  struct tide_live *slot;
  if (TIDE_LIKELY(tide_table_is_direct(table)))
    slot = tide_live_direct(table, number);
  else if (TIDE_LIKELY(tide_table_is_hashed(table)))
    slot = tide_live_home(table, key);
  else
    return tide_live_take_elsewhere(s, region, addr, ret_block);
  uint64_t what = tide_load_relaxed(&slot->what), when = tide_load_relaxed(&slot->when);
  // A block, at this address, of a size that is told here?
  if (TIDE_UNLIKELY(tide_when_key(when) != key) || TIDE_UNLIKELY(what - 1 >= large - 1))
    return tide_live_take_elsewhere(s, region, addr, ret_block);
  tide_store_relaxed(&slot->what, 0);
  tide_live_leave(s);
  *ret_block = tide_live_block(what, when);
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
