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
#include "rt/arch.h"

// Two words, each written and read whole: a slot is often read right after it was written, and
// loads that span two stores wait for both.
struct tide_live {
  uint64_t cell_and_size;      // 22 bits of cell, 0 for no block here; 42 bits of size
  uint64_t interval_and_birth; // 12 bits of the interval it was counted in; 52 bits of ticks
};

enum {
  TIDE_LIVE_GRANULE_BITS = 5,
  TIDE_LIVE_CHUNK_BITS = 27,
  TIDE_LIVE_ROOT_BITS = 48 - TIDE_LIVE_CHUNK_BITS, // user addresses have 47 or 48 bits
  TIDE_LIVE_PLANES = 4,
};
#define TIDE_LIVE_CHUNK_BYTES                                                                      \
  (sizeof(struct tide_live) << (TIDE_LIVE_CHUNK_BITS - TIDE_LIVE_GRANULE_BITS))
#define TIDE_LIVE_CELL_BITS 22
#define TIDE_LIVE_INTERVAL_BITS 12
#define TIDE_LIVE_MAX_SIZE ((1ull << (64 - TIDE_LIVE_CELL_BITS)) - 1)
#define TIDE_LIVE_BIRTH_MASK ((1ull << 52) - 1)

struct tide_live_map {
  struct tide_live **root[TIDE_LIVE_PLANES]; // of each plane in use: chunks by address
  uint64_t plane_mask;                       // 0: one plane, 3: four
};
extern struct tide_live_map tide_live_map;

bool tide_live_init(bool four_planes);
void tide_live_after_fork(void); // forgets every block
// Maps the chunk that *entry is to point to; NULL when refused.
struct tide_live *tide_live_chunk_new(struct tide_live **entry);

TIDE_HOT struct tide_live **tide_live_entry(uint64_t addr)
{
  struct tide_live **root = tide_live_map.root[addr >> 3 & tide_live_map.plane_mask];
  return &root[addr >> TIDE_LIVE_CHUNK_BITS & ((1u << TIDE_LIVE_ROOT_BITS) - 1)];
}

TIDE_HOT struct tide_live *tide_live_in(struct tide_live *chunk, uint64_t addr)
{
  return &chunk[(addr & ((1u << TIDE_LIVE_CHUNK_BITS) - 1)) >> TIDE_LIVE_GRANULE_BITS];
}

// The slot of a block just allocated; NULL: no memory for it.
TIDE_HOT struct tide_live *tide_live_make(uint64_t addr)
{
  struct tide_live **entry = tide_live_entry(addr);
  // Relaxed is enough: every use depends on the address loaded.
  struct tide_live *chunk = tide_load_relaxed(entry);
  if (TIDE_UNLIKELY(!chunk) && !(chunk = tide_live_chunk_new(entry)))
    return NULL;
  return tide_live_in(chunk, addr);
}

// The slot of a block that somebody wants to free or resize; NULL: never seen around here. The
// address may be any nonsense: more than 48 bits (and a tag) are nobody's.
TIDE_HOT struct tide_live *tide_live_find(uint64_t addr)
{
  struct tide_live *chunk =
      tide_untag(addr) >> 48 ? NULL : tide_load_relaxed(tide_live_entry(addr));
  return TIDE_LIKELY(chunk) ? tide_live_in(chunk, addr) : NULL;
}

// Could a block be here? Allocators align to 16, those with four planes to 8.
TIDE_HOT bool tide_live_aligned(uint64_t addr)
{
  return !(addr & (tide_live_map.plane_mask ? 7 : 15));
}

TIDE_HOT uint64_t tide_live_word(uint32_t cell, uint64_t size)
{
  return cell | size << TIDE_LIVE_CELL_BITS;
}

TIDE_HOT uint64_t tide_live_when(uint32_t interval, uint64_t birth)
{
  return interval | birth << TIDE_LIVE_INTERVAL_BITS;
}

TIDE_HOT uint64_t tide_when_birth(uint64_t when)
{
  return when >> TIDE_LIVE_INTERVAL_BITS;
}

TIDE_HOT void tide_live_put(struct tide_live *s, uint64_t cell_and_size, uint64_t when)
{
  s->cell_and_size = cell_and_size;
  s->interval_and_birth = when;
}

// Takes what is there (cell 0: nothing) and leaves the slot empty.
TIDE_HOT struct tide_live tide_live_take(struct tide_live *s)
{
  struct tide_live block = *s;
  s->cell_and_size = 0;
  return block;
}

TIDE_HOT uint32_t tide_live_cell(const struct tide_live *s)
{
  return (uint32_t)s->cell_and_size & ((1u << TIDE_LIVE_CELL_BITS) - 1);
}

TIDE_HOT uint64_t tide_live_size(const struct tide_live *s)
{
  return s->cell_and_size >> TIDE_LIVE_CELL_BITS;
}

TIDE_HOT uint32_t tide_live_interval(const struct tide_live *s)
{
  return (uint32_t)s->interval_and_birth & ((1u << TIDE_LIVE_INTERVAL_BITS) - 1);
}

TIDE_HOT uint64_t tide_live_birth(const struct tide_live *s)
{
  return tide_when_birth(s->interval_and_birth);
}
