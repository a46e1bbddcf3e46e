// SPDX-License-Identifier: Apache-2.0
//
// Linear probing with backward shift: what follows a removed block moves up if it may.
#include "import/live_map.h"

#include "base/alloc.h"

#include <stdlib.h>

void tide_live_map_done(struct tide_import_map *map)
{
  free(map->slots);
  *map = (struct tide_import_map){0};
}

static size_t home(const struct tide_import_map *map, uint64_t addr)
{
  return (size_t)((addr * 0x9e3779b97f4a7c15ull) >> 20) & (map->cap - 1);
}

// The slot of an address, or the free one where it would be.
static size_t find(const struct tide_import_map *map, uint64_t addr)
{
  size_t at = home(map, addr);
  while (map->slots[at].addr && map->slots[at].addr != addr)
    at = (at + 1) & (map->cap - 1);
  return at;
}

static void grow(struct tide_import_map *map)
{
  struct tide_import_map bigger = {.n = map->n, .cap = map->cap ? map->cap * 2 : 1024};
  bigger.slots = tide_alloc_array(bigger.cap, sizeof *bigger.slots);
  for (size_t i = 0; i < map->cap; i++)
    if (map->slots[i].addr)
      bigger.slots[find(&bigger, map->slots[i].addr)] = map->slots[i];
  free(map->slots);
  *map = bigger;
}

bool tide_live_map_put(struct tide_import_map *map, const struct tide_live_block *block)
{
  if (map->n * 2 >= map->cap)
    grow(map);
  size_t at = find(map, block->addr);
  if (!block->addr || map->slots[at].addr)
    return false;
  map->slots[at] = *block;
  map->n++;
  return true;
}

bool tide_live_map_take(struct tide_import_map *map, uint64_t addr,
                        struct tide_live_block *ret_block)
{
  if (!addr || !map->cap)
    return false;
  size_t hole = find(map, addr), mask = map->cap - 1;
  if (!map->slots[hole].addr)
    return false;
  *ret_block = map->slots[hole];
  for (size_t at = (hole + 1) & mask; map->slots[at].addr; at = (at + 1) & mask) {
    size_t wants = home(map, map->slots[at].addr);
    if (((at - wants) & mask) >= ((at - hole) & mask)) {
      map->slots[hole] = map->slots[at];
      hole = at;
    }
  }
  map->slots[hole] = (struct tide_live_block){0};
  map->n--;
  return true;
}
