// SPDX-License-Identifier: Apache-2.0
//
// Live blocks by address, for recordings that name them so: open addressing, at most half full,
// removal without graves. Memory grows with live blocks alone.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tide_live_block {
  uint64_t addr; // 0: free slot; a block at 0 is not kept
  uint32_t kind; // what it is
};

struct tide_import_map {
  struct tide_live_block *slots;
  size_t n, cap; // cap is 0 or a power of two
};

void tide_live_map_done(struct tide_import_map *map);

// False, and nothing changed, when a block is there already.
bool tide_live_map_put(struct tide_import_map *map, const struct tide_live_block *block);
bool tide_live_map_take(struct tide_import_map *map, uint64_t addr,
                        struct tide_live_block *ret_block);
