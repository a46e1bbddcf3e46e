// SPDX-License-Identifier: Apache-2.0
//
// Two tables of open addressing, at most half full: blocks by address, where nothing is left behind
// by what was taken out, and counts by region, which stay.
#include "store/pools.h"

#include "rt/arch.h"
#include "rt/sys.h"
#include "store/live_map.h"

enum { FIRST_BLOCKS = 512, FIRST_REGIONS = 256 };
_Static_assert((int)TIDE_POOL_REGION_BITS == TIDE_LIVE_REGION_BITS, "as the live map has it");

struct pool_region {
  uint64_t number; // and one; 0: none
  uint32_t n;      // blocks
  uint8_t grain;   // every address that was here is a multiple of 2^grain
  uint8_t pad;
  uint16_t n_begun; // how often blocks came here anew, as far as it can be counted
};
_Static_assert(sizeof(struct pool_region) == 16, "four in a line");

static struct tide_lock pools_lock;
static struct tide_pool_block *blocks;
static uint64_t block_mask, n_blocks; // 0: there is no table
static struct pool_region *regions;
static uint64_t region_mask, n_regions;
static uint64_t lowest, highest; // addresses so far

void tide_pools_after_fork(void) // wiped
{
  pools_lock.held = 0;
  blocks = NULL;
  regions = NULL;
  block_mask = n_blocks = region_mask = n_regions = 0;
  lowest = highest = 0;
}

void tide_pools_lock(void)
{
  tide_lock_take(&pools_lock);
}

void tide_pools_unlock(void)
{
  tide_lock_drop(&pools_lock);
}

// ---- regions ----

static struct pool_region *region_entry(uint64_t number)
{
  uint64_t i = tide_mix64(number) >> 32 & region_mask;
  while (regions[i].number && regions[i].number != number + 1)
    i = (i + 1) & region_mask;
  return &regions[i];
}

static bool regions_grow(void)
{
  struct pool_region *old = regions;
  uint64_t n_old = old ? region_mask + 1 : 0, n = old ? n_old * 2 : FIRST_REGIONS;
  struct pool_region *table = tide_sys_map_table(n * sizeof *table);
  if (!table)
    return false;
  regions = table;
  region_mask = n - 1;
  for (uint64_t i = 0; i < n_old; i++)
    if (old[i].number)
      *region_entry(old[i].number - 1) = old[i];
  if (old)
    tide_sys_unmap(old, n_old * sizeof *old);
  return true;
}

static const struct pool_region *region_find(uint64_t addr)
{
  const struct pool_region *r = regions ? region_entry(addr >> TIDE_POOL_REGION_BITS) : NULL;
  return r && r->number && r->n ? r : NULL;
}

bool tide_pools_are_near(uint64_t addr)
{
  return region_find(addr);
}

bool tide_pools_were_near(uint64_t addr)
{
  struct pool_region *r = regions ? region_entry(addr >> TIDE_POOL_REGION_BITS) : NULL;
  if (!r || !r->number)
    return false;
  r->n_begun++;
  return r->n_begun & (r->n_begun - 1);
}

// NULL: no memory.
static struct pool_region *region_get(uint64_t addr)
{
  if ((!regions || n_regions * 2 > region_mask) && !regions_grow())
    return NULL;
  struct pool_region *r = region_entry(addr >> TIDE_POOL_REGION_BITS);
  if (!r->number) {
    *r = (struct pool_region){.number = (addr >> TIDE_POOL_REGION_BITS) + 1,
                              .grain = TIDE_POOL_REGION_BITS};
    n_regions++;
  }
  return r;
}

// ---- blocks ----

static struct tide_pool_block *block_entry(uint64_t addr)
{
  uint64_t i = tide_mix64(addr) >> 32 & block_mask;
  while (blocks[i].addr && blocks[i].addr != addr)
    i = (i + 1) & block_mask;
  return &blocks[i];
}

static bool blocks_grow(void)
{
  struct tide_pool_block *old = blocks;
  uint64_t n_old = old ? block_mask + 1 : 0, n = old ? n_old * 2 : FIRST_BLOCKS;
  struct tide_pool_block *table = tide_sys_map_table(n * sizeof *table);
  if (!table)
    return false;
  blocks = table;
  block_mask = n - 1;
  for (uint64_t i = 0; i < n_old; i++)
    if (old[i].addr)
      *block_entry(old[i].addr) = old[i];
  if (old)
    tide_sys_unmap(old, n_old * sizeof *old);
  return true;
}

bool tide_pools_put(const struct tide_pool_block *block)
{
  uint64_t addr = block->addr;
  if ((!blocks || n_blocks * 2 > block_mask) && !blocks_grow())
    return false;
  struct pool_region *r = region_get(addr);
  if (!r)
    return false;
  uint8_t grain = (uint8_t)__builtin_ctzll(addr);
  r->grain = r->grain < grain ? r->grain : grain;
  r->n++;
  *block_entry(addr) = *block;
  n_blocks++;
  lowest = lowest && lowest < addr ? lowest : addr;
  highest = highest > addr ? highest : addr;
  return true;
}

// Whatever follows and could be nearer to its home moves up.
static void close_block_gap(uint64_t gap)
{
  for (uint64_t i = (gap + 1) & block_mask; blocks[i].addr; i = (i + 1) & block_mask) {
    uint64_t home = tide_mix64(blocks[i].addr) >> 32 & block_mask;
    if (((i - home) & block_mask) >= ((i - gap) & block_mask)) {
      blocks[gap] = blocks[i];
      gap = i;
    }
  }
  blocks[gap].addr = 0;
}

bool tide_pools_take(uint64_t addr, struct tide_pool_block *ret)
{
  struct tide_pool_block *entry = blocks ? block_entry(addr) : NULL;
  if (!entry || !entry->addr)
    return false;
  *ret = *entry;
  close_block_gap((uint64_t)(entry - blocks));
  n_blocks--;
  region_entry(addr >> TIDE_POOL_REGION_BITS)->n--;
  return true;
}

// In one region.
static bool take_in_region(const struct pool_region *r, uint64_t from, uint64_t to,
                           struct tide_pool_block *ret)
{
  uint64_t step = 1ull << r->grain;
  for (uint64_t at = (from + step - 1) & -step; at < to; at += step)
    if (tide_pools_take(at, ret))
      return true;
  return false;
}

bool tide_pools_take_in(uint64_t from, uint64_t to, struct tide_pool_block *ret)
{
  const uint64_t region_bytes = 1ull << TIDE_POOL_REGION_BITS;
  if (!n_blocks)
    return false;
  from = from > lowest ? from : lowest;
  to = to <= highest ? to : highest + 1;
  while (from < to) {
    const struct pool_region *r = region_find(from);
    uint64_t end = (from & -region_bytes) + region_bytes;
    if (r && take_in_region(r, from, end < to ? end : to, ret))
      return true;
    from = end;
  }
  return false;
}
