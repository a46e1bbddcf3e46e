// SPDX-License-Identifier: Apache-2.0
//
// Live blocks: a shadow map by address, private to the process. Whoever owns the pointer owns the
// slot, so there is no lock. 16 bytes per 32 bytes of heap actually used by small blocks.
//
// Two levels: the address above 128 MiB chooses a chunk, mapped when first used. Where the
// allocator packs blocks 8 or 16 bytes apart (anything but glibc), bits 3..4 of the address also
// choose one of four planes, so two blocks never share a slot, and an allocator that never uses
// those addresses pays no memory for them.
//
// A zero slot at a free: a block from before we came. A fork child finds the map wiped.
#pragma once
#include "rt/base.h"

struct tide_live {
  uint32_t cell; // 0: no block here
  uint32_t size_lo;
  uint64_t birth_and_size_hi; // 52 bits of ticks, then 12 more bits of size
};

enum {
  TIDE_LIVE_GRANULE_BITS = 5,
  TIDE_LIVE_CHUNK_BITS = 27,
  TIDE_LIVE_ROOT_BITS = 47 - TIDE_LIVE_CHUNK_BITS, // user addresses have 47 or 48 bits
};
#define TIDE_LIVE_CHUNK_BYTES                                                                      \
  (sizeof(struct tide_live) << (TIDE_LIVE_CHUNK_BITS - TIDE_LIVE_GRANULE_BITS))
#define TIDE_LIVE_MAX_SIZE ((1ull << 44) - 1)
#define TIDE_LIVE_BIRTH_MASK ((1ull << 52) - 1)

struct tide_live_map {
  struct tide_live **root;
  uint64_t root_n;     // entries
  uint64_t plane_mask; // 0: one plane, 3: four
};
extern struct tide_live_map tide_live_map;

bool tide_live_init(bool four_planes);
void tide_live_after_fork(void); // forgets every block
// Maps the chunk of root entry i; NULL when refused.
struct tide_live *tide_live_chunk_new(uint64_t i);

// The slot of addr. With make, its chunk is mapped (NULL: refused); without, a missing chunk
// gives NULL.
TIDE_HOT struct tide_live *tide_live_find(uint64_t addr, bool make)
{
  uint64_t mask = tide_live_map.plane_mask;
  uint64_t i = (addr >> TIDE_LIVE_CHUNK_BITS) * (mask + 1) + (addr >> 3 & mask);
  if (TIDE_UNLIKELY(i >= tide_live_map.root_n))
    return NULL;
  // Relaxed is enough: every use depends on the address loaded.
  struct tide_live *chunk = tide_load_relaxed(&tide_live_map.root[i]);
  if (TIDE_UNLIKELY(!chunk)) {
    if (!make || !(chunk = tide_live_chunk_new(i)))
      return NULL;
  }
  return &chunk[(addr & ((1u << TIDE_LIVE_CHUNK_BITS) - 1)) >> TIDE_LIVE_GRANULE_BITS];
}

// Could a block be here? Allocators align to 16, those with four planes to 8.
TIDE_HOT bool tide_live_aligned(uint64_t addr)
{
  return !(addr & (tide_live_map.plane_mask ? 7 : 15));
}

TIDE_HOT void tide_live_put(struct tide_live *s, uint32_t cell, uint64_t size, uint64_t birth)
{
  s->cell = cell;
  s->size_lo = (uint32_t)size;
  s->birth_and_size_hi = birth << 12 | (size >> 32 & 0xfff);
}

TIDE_HOT uint64_t tide_live_size(const struct tide_live *s)
{
  return s->size_lo | (s->birth_and_size_hi & 0xfff) << 32;
}

TIDE_HOT uint64_t tide_live_birth(const struct tide_live *s)
{
  return s->birth_and_size_hi >> 12;
}
