// SPDX-License-Identifier: Apache-2.0
//
// What is in a table, whatever its form: see live.h. Private to the live map. Whoever has copied
// a table to elsewhere may ask the same of the copy, whatever may have been copied.
#pragma once
#include "store/live_map.h"

enum {
  TIDE_TABLE_MAX_PROBE = 8,   // lines from a key's home on in which it may lie
  TIDE_TABLE_GRAINS = 5,      // of packed tables: 8 to 128 bytes
  TIDE_TABLE_KIND_LINES = 60, // at most: with more, a hashed table takes less
};

// A block in a table.
struct tide_entry {
  uint64_t key, what, when; // when: with its key
  uint64_t *lives;          // is 0 when the block goes
};

// The lines in which a key may lie in a hashed table, in turn.
struct tide_probe {
  uint32_t line, n_lines, left;
};
struct tide_probe tide_probe_from(uint64_t table, uint64_t key);
bool tide_probe_next(struct tide_probe *p);

// What a region's word says of a table at that address (or at none, yet), which is closed.
uint64_t tide_table_word(const void *address, uint32_t lines, bool scattered);
uint64_t tide_table_word_packed(const void *address, uint32_t grain, uint32_t kind_lines);
uint64_t tide_table_opened(uint64_t table);

uint32_t tide_table_n_slots(uint64_t table);
uint32_t tide_table_n_lines(uint64_t table); // at most TIDE_TABLE_MAX_LINES, or it is nonsense

// What lives in a slot of it; false: nothing.
bool tide_table_entry(uint64_t table, uint32_t i, struct tide_entry *ret_entry);
// What lives under a key; false: nothing.
bool tide_table_find(uint64_t table, uint64_t key, struct tide_entry *ret_entry);
// Has a slot ever been used (a packed one: is it)?
bool tide_table_is_used(uint64_t table, uint32_t i);

// A place for a block that is to be written at once. False: there is none for it.
bool tide_table_claim(uint64_t table, uint64_t key, uint64_t what, struct tide_place *ret_place);

// Is there room for a kind in a packed table? It is there then.
bool tide_table_has_kind(uint64_t table, uint64_t what);
uint32_t tide_table_kind_lines(uint64_t table);

// A number for each kind of block, always the same.
TIDE_HOT uint32_t tide_kind_hash(uint64_t what)
{
  return (uint32_t)(tide_mix64(what) >> 32);
}
