// SPDX-License-Identifier: Apache-2.0
//
// What the live map does seldom: chunks, blocks that are not where they are looked for first, and
// those that a slot has no room for.
#include "store/live.h"

#include "rt/sys.h"
#include "store/live_inside.h"
#include "store/store.h"

#include <string.h>
#include <sys/mman.h>

struct tide_live_map tide_live_map;

static struct tide_live_large large TIDE_BULKY;
static uint32_t n_large; // ever
static struct tide_lock large_lock;

uint64_t *tide_live_latest;

// No mapping of its own: a fork copies mapping by mapping.
static uint64_t *root[1u << TIDE_LIVE_ROOT_BITS] TIDE_BULKY;

void tide_live_init(bool apart)
{
  tide_live_map.apart = apart;
  tide_live_map.direct_left = TIDE_LIVE_DIRECT_BYTES;
  tide_live_map.large = &large;
  tide_live_map.unit_bits = tide_bits(tide_ticks_per_second() / 1000000);
  tide_live_map.root = root;
  tide_stations_init();
}

void tide_live_after_fork(bool wiped)
{
  tide_stations_after_fork();
  tide_live_map.direct_left = TIDE_LIVE_DIRECT_BYTES;
  large_lock.held = 0;
  if (n_large)
    memset(&large, 0, sizeof large);
  n_large = 0;
  for (uint64_t i = 0; i < 1u << TIDE_LIVE_ROOT_BITS && !wiped; i++)
    if (tide_live_map.root[i])
      TIDE_SYS(SYS_madvise, tide_live_map.root[i], TIDE_LIVE_CHUNK_BYTES, MADV_DONTNEED);
  // A child's first blocks mostly lie near its parent's latest. The page of their regions is got by
  // a write: to be read it would be the page of zeros first, and then another.
  if (wiped && tide_live_latest)
    tide_store_relaxed(tide_live_latest, 0);
  tide_tables_after_fork(wiped);
}

static bool chunk_new(uint64_t addr)
{
  uint64_t *fresh = tide_sys_map_once(TIDE_LIVE_CHUNK_BYTES), *old = NULL;
  uint64_t **entry =
      &tide_live_map.root[addr >> TIDE_LIVE_CHUNK_BITS & ((1u << TIDE_LIVE_ROOT_BITS) - 1)];
  tide_live_note_refusal(fresh);
  if (fresh &&
      !__atomic_compare_exchange_n(entry, &old, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    tide_sys_unmap(fresh, TIDE_LIVE_CHUNK_BYTES); // another thread was first
  return fresh;
}

uint64_t tide_live_nowhere;

bool tide_live_again(struct tide_station *s, const struct tide_place *p,
                     const struct tide_live *words)
{
  // The table alone does not tell: it may have been given up and come back with other keys.
  bool same = tide_live_enter(s, p->region) == p->table;
  if (same && p->table & TIDE_TABLE_PACKED)
    same = tide_packed_holds(p, words);
  else if (same)
    same = tide_load_relaxed(&p->slot->when) == words->when &&
           tide_load_relaxed(&p->slot->what) == words->what;
  if (!same)
    tide_live_leave(s);
  return same;
}

// The home of a key that was there before.
static bool claim_home(uint64_t table, uint64_t key, struct tide_place *ret)
{
  if (!tide_table_is_hashed(table))
    return false;
  ret->slot = tide_live_home(table, key);
  ret->table = table;
  return tide_when_is_of(tide_load_relaxed(&ret->slot->when), key);
}

__attribute__((noinline)) bool tide_live_make_slowly(struct tide_station *s, uint64_t addr,
                                                     struct tide_live words,
                                                     struct tide_place *ret_place)
{
  struct tide_newcomer newcomer = {tide_live_key(addr), words.what, words.when};
  uint64_t *region;
  *ret_place = (struct tide_place){{tide_live_odd_slot(addr >> 3)}, NULL, 0};
  if (TIDE_LIKELY(ret_place->slot))
    return true;
  while (!(region = tide_live_region(addr)))
    if (!chunk_new(addr))
      return false;
  for (;;) {
    uint64_t table = tide_live_enter(s, region);
    bool open = tide_table_is_open(table);
    if (open && (claim_home(table, newcomer.key, ret_place) ||
                 tide_table_claim(table, &newcomer, ret_place))) {
      ret_place->region = region;
      if (table & TIDE_TABLE_DIRECT) {
        ret_place->region = NULL;
        tide_live_leave(s);
      }
      return true;
    }
    tide_live_leave(s);
    bool again = !table ? tide_live_table_first(s, region)
                 : open ? tide_live_rebuild(s, region, &newcomer)
                        : tide_live_wait_for_table(region);
    if (!again)
      return false;
  }
}

// Of a block in a table that is not direct or was not open. If so, we are in its region.
static bool find_block(struct tide_station *s, uint64_t *region, uint64_t key,
                       struct tide_entry *ret)
{
  uint64_t table;
  while (!tide_table_is_open(table = tide_live_enter(s, region))) {
    tide_live_leave(s);
    if (!table || !tide_live_wait_for_table(region))
      return false;
  }
  if (tide_table_find(table, key, ret))
    return true;
  tide_live_leave(s); // the slot may be, or become, another's
  return false;
}

static void take(const struct tide_entry *e, uint64_t addr, struct tide_block *ret_block)
{
  *ret_block = tide_live_block(e->what, e->when);
  tide_store_relaxed(e->lives, 0);
  if (ret_block->size == TIDE_LIVE_LARGE)
    ret_block->size = tide_live_large_take(addr);
}

__attribute__((noinline)) bool tide_live_take_slowly(struct tide_station *s, uint64_t addr,
                                                     struct tide_block *ret_block)
{
  uint64_t number = tide_live_number(addr);
  uint64_t *region = tide_live_plausible(number) ? tide_live_region_of(number) : NULL;
  struct tide_entry e;
  if (!region || !find_block(s, region, number % TIDE_LIVE_KEYS, &e))
    return false;
  take(&e, addr, ret_block);
  tide_live_leave(s);
  return true;
}

bool tide_live_look(struct tide_station *s, uint64_t addr, struct tide_block *ret_block)
{
  uint64_t *region = tide_live_region(addr);
  struct tide_entry e;
  if (!region || !find_block(s, region, tide_live_key(addr), &e))
    return false;
  *ret_block = tide_live_block(e.what, e.when);
  tide_live_leave(s);
  return true;
}

// A guest closes the table for a moment: so it is not rebuilt, and whoever is there may go on.
bool tide_live_take_as_guest(uint64_t addr, struct tide_block *ret_block)
{
  uint64_t *region = tide_live_plausible(tide_live_number(addr)) ? tide_live_region(addr) : NULL;
  uint64_t table = region ? tide_load_acquire(region) : 0;
  for (int i = 0; i < 256 && table && !tide_table_is_open(table); i++) {
    tide_cpu_relax();
    table = tide_load_acquire(region);
  }
  if (!tide_table_is_open(table) ||
      !__atomic_compare_exchange_n(region, &table, table & ~TIDE_TABLE_OPEN, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return false;
  struct tide_entry e;
  bool known = tide_table_find(table, tide_live_key(addr), &e);
  if (known)
    take(&e, addr, ret_block);
  tide_store_release(region, table);
  return known;
}

// What finds no room will end as a smaller block than it was: that is a loss, and counted.
void tide_live_large_put(uint64_t addr, uint64_t size)
{
  int i = 0;
  tide_lock_take(&large_lock);
  while (i < TIDE_LIVE_MAX_LARGE && large.blocks[i].size)
    i++;
  if (i < TIDE_LIVE_MAX_LARGE) {
    n_large++;
    large.blocks[i].addr = addr;
    large.blocks[i].size = size;
  }
  tide_lock_drop(&large_lock);
  if (i == TIDE_LIVE_MAX_LARGE)
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
}

uint64_t tide_live_large_take(uint64_t addr)
{
  uint64_t size = TIDE_LIVE_LARGE;
  tide_lock_take(&large_lock);
  for (int i = 0; i < TIDE_LIVE_MAX_LARGE; i++)
    if (large.blocks[i].addr == addr && large.blocks[i].size) {
      size = large.blocks[i].size;
      large.blocks[i].size = 0;
    }
  tide_lock_drop(&large_lock);
  return size;
}
