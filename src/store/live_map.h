// SPDX-License-Identifier: Apache-2.0
//
// The map of live blocks by address: what its words mean, and how a region is entered. Private to
// the process. Whoever owns a pointer owns its slot, so there is no lock on the way of an event.
// What events do with it is in live.h.
//
//   address | 18 bits: root | 16 bits: region (16 KiB) | 11 bits: key | 3 |
//                 |                    |
//   root[2^18] ---+--> chunk (1 GiB) --+--> a table of the region's blocks, in one of three forms
//
//   direct   one slot for every 32 bytes, or for every 16: nothing is searched
//            | what: 28 bits of cell, 36 of size | when: 11 of key, 12 of interval, 41 of birth |
//   hashed   4 to 2048 such slots, four to a line of 64 bytes
//   packed   one word for each block, then the kinds of block there are
//            | rest of the key | kind | 12 of interval | birth | (live_packed.c)
//            | what of kind 1 | what of kind 2 | ...
//
// While a program is small, tables are direct: with a slot for every 32 bytes where blocks begin at
// least so far apart (glibc), else with one for every 16, fine ones. For these, blocks at odd
// multiples of 8 have tables of their own, by another word of the region. Beyond that each is of
// the form that takes the least memory for its blocks: packed where they lie crowded and are of few
// kinds, 8 to 12 bytes a block, hashed where not, 16 and an eighth. While a region fills up for the
// first time it has a draft: a hashed table with as many slots as a direct one (live_rebuild.c).
//
// The place of a key in a hashed table, its home, is in proportion to the address or, where blocks
// lie crowded in parts of a region, scattered. A key whose home is taken lies elsewhere in that
// line, or in one of the lines behind. A kind is a cell and a size: a packed table writes each
// once. Nothing is rounded in any form.
//
// 1. Only the owner of a pointer writes its slot. Pointers are handed over by free and malloc.
// 2. A key comes into a hashed table by a compare-and-swap of `when` in an empty slot, and stays
//    when its block goes (what is 0 then): the next block there needs plain stores alone. In a
//    direct table a slot is whose bytes it stands for: nothing has to be empty. A block comes
//    into a packed table by a compare-and-swap of its word, which is 0 again when it goes.
// 3. Where a key finds no slot near its home, or no room for its kind, the table is rebuilt
//    (live_rebuild.c): closed, so that nobody comes in; a barrier in all threads (membarrier); a
//    wait until no thread's station names the region. An operation names its region first and looks
//    then, so either it finds the table closed or the rebuild finds it there. A direct table has a
//    slot for whatever comes: it is never rebuilt, and whoever is in it names nothing.
// 4. While a thread is in a region it waits for nobody who may wait for a region.
// 5. A fork child finds the map empty.
#pragma once
#include "rt/arch.h"

struct tide_live {
  uint64_t what; // 0: no block here
  uint64_t when; // 0: no key either
};

enum {
  TIDE_LIVE_KEY_BITS = 11,
  TIDE_LIVE_REGION_BITS = 14,
  TIDE_LIVE_CHUNK_BITS = 30,
  TIDE_LIVE_ROOT_BITS = 48 - TIDE_LIVE_CHUNK_BITS, // user addresses have 47 or 48 bits
  TIDE_LIVE_CELL_BITS = 28,
  TIDE_LIVE_INTERVAL_BITS = 12,
  TIDE_LIVE_BORN_SHIFT = TIDE_LIVE_KEY_BITS + TIDE_LIVE_INTERVAL_BITS,
  TIDE_LIVE_LANES = 4, // slots of a line
  TIDE_LIVE_DIRECT_SLOTS = 512,
  TIDE_LIVE_FINE_SLOTS = 1024,
  TIDE_LIVE_A_FEW = 4, // lines
};
#define TIDE_LIVE_KEYS (1u << TIDE_LIVE_KEY_BITS)
#define TIDE_LIVE_REGIONS (1u << (TIDE_LIVE_CHUNK_BITS - TIDE_LIVE_REGION_BITS)) // of a chunk
// Words of all regions, then those of blocks at odd multiples of 8, where they have their own.
#define TIDE_LIVE_CHUNK_BYTES (2 * sizeof(uint64_t) * TIDE_LIVE_REGIONS)
#define TIDE_LIVE_LARGE                                                                            \
  ((1ull << (64 - TIDE_LIVE_CELL_BITS)) - 1)   // as large, or larger: see live.c
#define TIDE_LIVE_TICK_MASK ((1ull << 52) - 1) // of any time

// What a region's word says of its table: its address above, its shape and how it is below. 0:
// there is none. A direct table for every 32 bytes has a bit of its own for being open: one test
// tells the usual case.
#define TIDE_TABLE_DIRECT_OPEN 1ull
#define TIDE_TABLE_SCATTERED 2ull
#define TIDE_TABLE_GIVEN_UP 4096ull // closed for good, as far as can be told
#define TIDE_TABLE_DIRECT 8192ull   // a slot for so many bytes, in which one block begins
#define TIDE_TABLE_OTHER_OPEN 16384ull
#define TIDE_TABLE_PACKED 32768ull
#define TIDE_TABLE_OPEN (TIDE_TABLE_DIRECT_OPEN | TIDE_TABLE_OTHER_OPEN) // either
#define TIDE_TABLE_SLOTS(table) ((uint32_t)(table)&0xffc)                // not of a packed one
#define TIDE_TABLE_ADDRESS(table) ((struct tide_live *)((table) >> 16))

// Where a thread is. Stations are never freed.
struct tide_station {
  uint64_t *at; // the region whose table it uses; NULL: none
  struct tide_station *next;
  uint64_t *opened; // the region that it gave its first table latest
  uint32_t lines;   // what the last one had use for
  uint32_t packed;  // its shape, if it was packed; else 0
  bool scattered;   // if it was hashed: was it scattered?
  // Whether packed would be smaller than hashed is not asked of so many regions to come: the more,
  // the more often the answer was the same.
  uint8_t n_unasked, n_same_answers;
  uint8_t n_opened; // regions, up to two
  uint32_t held_up; // a rebuild has waited for it in vain
};

// A block's slot, and the table in which that is so. In a direct table that is always so: no
// region.
struct tide_place {
  union {
    struct tide_live *slot;
    uint64_t *word; // in a packed table
  };
  uint64_t *region, table;
};

// What is known of a block.
struct tide_block {
  uint32_t cell; // 0: nothing
  uint64_t size, when;
};

// Where there is no membarrier, or soon will be none, every operation has a fence of its own.
enum tide_fences { TIDE_FENCES_NONE, TIDE_FENCES_TOO, TIDE_FENCES_ENOUGH };

// Sizes that a slot has no room for.
enum { TIDE_LIVE_MAX_LARGE = 256 };
struct tide_live_large {
  struct {
    uint64_t addr, size; // size 0: free
  } blocks[TIDE_LIVE_MAX_LARGE];
};

struct tide_live_map {
  uint64_t **root;               // chunks of regions by address
  uint32_t fences;               // enum tide_fences
  uint32_t unit_bits;            // of births, in ticks: where the architecture does not say
  int64_t direct_left;           // bytes that direct tables may still take beyond need
  bool apart;                    // blocks begin at least 32 bytes apart
  struct tide_live_large *large; // for whoever walks the map
  bool refused;                  // the kernel gave no memory
};
extern struct tide_live_map tide_live_map;

// Addresses are numbered by 8 bytes. One that no block can have (more than 48 bits and a tag, or
// within 8 bytes) has a number that is not plausible.
TIDE_HOT uint64_t tide_live_number(uint64_t addr)
{
  uint64_t untagged = tide_untag(addr);
  return untagged >> 3 | untagged << 61;
}

TIDE_HOT bool tide_live_plausible(uint64_t number)
{
  return !(number >> 45);
}

// parted: blocks at odd multiples of 8 have their own.
TIDE_HOT uint64_t *tide_live_region_if(uint64_t number, bool parted)
{
  const uint64_t n_roots = 1u << TIDE_LIVE_ROOT_BITS;
  // Relaxed is enough: every use depends on the address loaded.
  uint64_t *chunk =
      tide_load_relaxed(&tide_live_map.root[number >> (TIDE_LIVE_CHUNK_BITS - 3) & (n_roots - 1)]);
  uint64_t i = number >> TIDE_LIVE_KEY_BITS & (TIDE_LIVE_REGIONS - 1);
  uint64_t part = parted ? (number & 1) * TIDE_LIVE_REGIONS : 0;
  return TIDE_LIKELY(chunk) ? &chunk[i + part] : NULL;
}

TIDE_HOT uint64_t *tide_live_region_of(uint64_t number)
{
  return tide_live_region_if(number, !tide_live_map.apart);
}

TIDE_HOT uint64_t *tide_live_region(uint64_t addr)
{
  return tide_live_region_of(addr >> 3);
}

// Names the region, then looks at its table, in this order: see 3 above.
TIDE_HOT uint64_t tide_live_enter(struct tide_station *s, uint64_t *region)
{
  tide_store_release(&s->at, region);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (TIDE_UNLIKELY(tide_load_relaxed(&tide_live_map.fences)))
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return tide_load_acquire(region);
}

TIDE_HOT void tide_live_leave(struct tide_station *s)
{
  tide_store_release(&s->at, NULL);
}

TIDE_HOT uint64_t tide_live_key(uint64_t addr)
{
  return addr >> 3 & (TIDE_LIVE_KEYS - 1);
}

TIDE_HOT uint64_t tide_when_key(uint64_t when)
{
  return when & (TIDE_LIVE_KEYS - 1);
}

TIDE_HOT bool tide_when_is_of(uint64_t when, uint64_t key)
{
  return when && tide_when_key(when) == key;
}

TIDE_HOT bool tide_table_is_open(uint64_t table)
{
  return table & TIDE_TABLE_OPEN;
}

TIDE_HOT bool tide_table_is_direct(uint64_t table) // for every 32 bytes, and open
{
  return table & TIDE_TABLE_DIRECT_OPEN;
}

TIDE_HOT bool tide_table_is_fine(uint64_t table) // direct for every 16 bytes, and open
{
  const uint64_t fine = TIDE_TABLE_OTHER_OPEN | TIDE_TABLE_DIRECT;
  return (table & fine) == fine;
}

TIDE_HOT bool tide_table_is_hashed(uint64_t table) // and open, and not direct
{
  const uint64_t form = TIDE_TABLE_OTHER_OPEN | TIDE_TABLE_DIRECT | TIDE_TABLE_PACKED;
  return (table & form) == TIDE_TABLE_OTHER_OPEN;
}

// In a direct table of so many slots.
TIDE_HOT struct tide_live *tide_live_direct(uint64_t table, uint64_t number, uint32_t n_slots)
{
  struct tide_live *slots = TIDE_TABLE_ADDRESS(table);
  if (!slots)
    __builtin_unreachable();
  return &slots[number / (TIDE_LIVE_KEYS / n_slots) % n_slots];
}

// In any table that is not packed.
TIDE_HOT uint64_t tide_live_home_index(uint64_t table, uint64_t key)
{
  // Odd, and the golden part of all keys: neighbours and multiples go far apart.
  uint64_t scattered = key * 1265 & (TIDE_LIVE_KEYS - 1);
  uint64_t place = table & TIDE_TABLE_SCATTERED ? scattered : key;
  return place * TIDE_TABLE_SLOTS(table) >> TIDE_LIVE_KEY_BITS;
}

TIDE_HOT struct tide_live *tide_live_home(uint64_t table, uint64_t key)
{
  return &TIDE_TABLE_ADDRESS(table)[tide_live_home_index(table, key)];
}

TIDE_HOT uint64_t tide_live_what(uint64_t cell, uint64_t size)
{
  return cell | size << TIDE_LIVE_CELL_BITS;
}

// A unit of birth is about a microsecond: 41 bits of them last for weeks. A time is a whole number
// of units, in ticks.
TIDE_HOT uint32_t tide_live_unit_bits(void)
{
  return tide_unit_bits(tide_live_map.unit_bits);
}

TIDE_HOT uint64_t tide_live_time(uint64_t ticks)
{
  return ticks >> tide_live_unit_bits() << tide_live_unit_bits() & TIDE_LIVE_TICK_MASK;
}

TIDE_HOT uint64_t tide_live_born(uint64_t time) // in its place in a slot
{
  return time >> tide_live_unit_bits() << TIDE_LIVE_BORN_SHIFT;
}

TIDE_HOT uint64_t tide_live_when(uint32_t interval, uint64_t birth) // without a key
{
  return (uint64_t)interval << TIDE_LIVE_KEY_BITS | tide_live_born(birth);
}

TIDE_HOT void tide_live_put(struct tide_live *slot, struct tide_live words)
{
  tide_store_relaxed(&slot->when, words.when);
  tide_store_release(&slot->what, words.what); // a reader in another process finds a block whole
}

// Into a packed table, where its key and kind are already.
void tide_live_put_packed(const struct tide_place *place, uint64_t when);

// At any place.
TIDE_HOT void tide_live_put_at(const struct tide_place *place, struct tide_live words)
{
  if (TIDE_LIKELY(!(place->table & TIDE_TABLE_PACKED)))
    tide_live_put(place->slot, words);
  else
    tide_live_put_packed(place, words.when);
}

TIDE_HOT struct tide_block tide_live_block(uint64_t what, uint64_t when)
{
  return (struct tide_block){
      .cell = (uint32_t)what & ((1u << TIDE_LIVE_CELL_BITS) - 1),
      .size = what >> TIDE_LIVE_CELL_BITS,
      .when = when,
  };
}

TIDE_HOT uint32_t tide_when_interval(uint64_t when)
{
  return (uint32_t)when >> TIDE_LIVE_KEY_BITS & ((1u << TIDE_LIVE_INTERVAL_BITS) - 1);
}
