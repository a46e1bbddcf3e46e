// SPDX-License-Identifier: Apache-2.0
//
// Which block lies below an address: asked of memory that may be within one.
#include "store/live.h"
#include "store/live_inside.h"

// The highest that begins in this table at addr or below, if that is above what is known so far.
static void look_in(uint64_t table, uint64_t start, uint64_t addr, struct tide_below *best)
{
  struct tide_entry e;
  for (uint32_t i = 0; tide_table_next(table, &i, &e);) {
    uint64_t at = start + (e.key << 3);
    struct tide_block block = tide_live_block(e.what, e.when);
    if (block.cell && at <= addr && at >= best->addr)
      *best = (struct tide_below){at, block.size};
  }
}

static void look_in_region(struct tide_station *s, uint64_t *region, uint64_t start, uint64_t addr,
                           struct tide_below *best)
{
  uint64_t table = tide_live_enter(s, region);
  if (tide_table_is_open(table))
    look_in(table, start, addr, best);
  tide_live_leave(s);
}

bool tide_live_below(struct tide_station *s, uint64_t start, uint64_t addr, struct tide_below *ret)
{
  *ret = (struct tide_below){0};
  for (uint64_t part = 0; part < (tide_live_map.apart ? 1 : 2); part++) {
    uint64_t *region = tide_live_region_if(start >> 3 | part, part);
    if (region && tide_load_relaxed(region))
      look_in_region(s, region, start, addr, ret);
  }
  return ret->addr;
}
