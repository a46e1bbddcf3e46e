// SPDX-License-Identifier: Apache-2.0
//
// What the files of the live map tell each other, and nobody else: the memory of its tables
// (tables.c), their forms (live_table.c, live_packed.c), who is in which region (live_stations.c),
// and how a table is replaced by another (live_rebuild.c).
#pragma once
#include "store/live_map.h"

// The region that got its first table last, for fork children. Written by any thread; NULL: none.
extern uint64_t *tide_live_latest;

// Memory for tables: zeroed pieces of whole 64-byte lines, carved from large private mappings that
// are never unmapped. A thread that was held up may so read or write a table that is another
// region's by now: what is there may be spoilt, memory is not.

enum { TIDE_TABLE_LINE = 64, TIDE_TABLE_MAX_LINES = 512 };

// So many lines as are given for the asking of n, at most one in 32 more; n is 1 to MAX_LINES.
uint32_t tide_table_lines(uint32_t n);
// A zeroed table of tide_table_lines(n) lines; NULL: no memory.
void *tide_table_new(uint32_t n);
void tide_table_free(void *table, uint32_t n); // n: as it was asked for, or what was given
// In a fork child: no table is anybody's. wiped: the kernel has wiped them.
void tide_tables_after_fork(bool wiped);

// What is in a table, whatever its form. Whoever has copied a table to elsewhere may ask the same
// of the copy, whatever may have been copied.

enum {
  TIDE_TABLE_MAX_PROBE = 8, // lines from a key's home on in which it may lie
  TIDE_TABLE_KEY_WORDS = TIDE_LIVE_KEYS / 64,
};

// A block in a table.
struct tide_entry {
  uint64_t key, what, when; // when: with its key
  uint64_t *lives;          // is 0 when the block goes
};

// A block that has to have a place.
struct tide_newcomer {
  uint64_t key, what, when; // when: at least its birth
};

// The lines in which a key may lie in a hashed table, in turn.
struct tide_probe {
  uint32_t line, n_lines, left;
};
struct tide_probe tide_probe_from(uint64_t table, uint64_t key);
bool tide_probe_next(struct tide_probe *p);

uint64_t tide_table_opened(uint64_t table);

uint32_t tide_table_n_slots(uint64_t table);
uint32_t tide_table_n_lines(uint64_t table); // at most TIDE_TABLE_MAX_LINES, or it is nonsense

// What lives under a key; false: nothing.
bool tide_table_find(uint64_t table, uint64_t key, struct tide_entry *ret_entry);
// What lives in the first slot from *i on where something does; *i is behind it then. False:
// nothing does. Exact of a table that is closed; of one in use, a guess.
bool tide_table_next(uint64_t table, uint32_t *i, struct tide_entry *ret_entry);
// How many slots have ever been used (of packed ones: are)? One in `stride` is looked at.
uint32_t tide_table_n_used(uint64_t table, uint32_t stride);

// A place for a block that is to be written at once. False: there is none for it.
bool tide_table_claim(uint64_t table, const struct tide_newcomer *block,
                      struct tide_place *ret_place);

// A bit for each key of what lives in a table; how many they are. Exact likewise.
uint32_t tide_table_keys(uint64_t table, uint64_t ret_keys[TIDE_TABLE_KEY_WORDS]);

// Copies what lives, but for the newcomer, into a table that is empty and nobody's yet: if that is
// here already, its end was not seen. False: not all found room, or that would not.
bool tide_table_copy(uint64_t from, const struct tide_newcomer *more, uint64_t to);

// Packed tables (live_packed.c).

enum {
  TIDE_PACKED_LANES = 8,       // words of a line
  TIDE_PACKED_REACH = 8,       // from its home on, in so many words a key may lie
  TIDE_PACKED_MIN_LINES = 8,   // of words: with fewer, births would have few bits
  TIDE_PACKED_MAX_LINES = 128, // a power of two
  TIDE_PACKED_KIND_BITS = 3,   // sizes of what kinds may take
};
struct tide_packed_shape {
  uint32_t lines, kind_lines;
};

// So many lines as are given for n lines of kinds; 0: more than there may be.
uint32_t tide_packed_kind_lines(uint32_t n);
// What a region's word says of such a table at that address (or at none, yet), which is closed;
// kind_lines: as they are given.
uint64_t tide_packed_word(const void *address, struct tide_packed_shape shape);
struct tide_packed_shape tide_packed_shape_of(uint64_t table);

// Before anything is in it. newest: `when` of the latest block that will be.
void tide_packed_begin(uint64_t table, uint64_t newest);
bool tide_packed_claim(uint64_t table, const struct tide_newcomer *block, uint64_t **ret_word);
// The same at once, where nobody else is and the key is new.
bool tide_packed_fill(uint64_t table, const struct tide_entry *e);
bool tide_packed_find(uint64_t table, uint64_t key, struct tide_entry *ret_entry);
bool tide_packed_at(uint64_t table, uint32_t i, struct tide_entry *ret_entry);

// Is there room for its kind, which is there then, and is its birth within the table's time? And is
// there a word for it, too?
bool tide_packed_has_kind(uint64_t table, const struct tide_newcomer *block);
bool tide_packed_has_room(uint64_t table, const struct tide_newcomer *block);
// Is what was put there still there?
bool tide_packed_holds(const struct tide_place *place, const struct tide_live *words);

// A number for each kind of block, always the same.
TIDE_HOT uint32_t tide_kind_hash(uint64_t what)
{
  return (uint32_t)(tide_mix64(what) >> 32);
}

// Who is in which region. A rebuild waits for whoever is there. A thread that stays there for long
// was stopped, or killed, or a signal handler of it never returned: then its table is left to it
// for good, what it still does there is lost, and the loss is counted. A table that stays closed
// for long is given up: what is allocated there is counted as lost, what is freed as unknown.

void tide_stations_init(void);
void tide_stations_after_fork(void);

// Waits until a table is open again, or gone. False: it stays closed.
bool tide_live_wait_for_table(uint64_t *region);

// Everybody has left; somebody stays; it cannot be told.
enum tide_quiet { TIDE_QUIET, TIDE_HELD_UP, TIDE_BLIND };

// Waits until nobody but self is in a region whose table is closed.
enum tide_quiet tide_live_quieten(const struct tide_station *self, const uint64_t *region);

// Making tables, and replacing them by others that fit their blocks better.

enum { TIDE_LIVE_DIRECT_BYTES = 36 << 20 }; // that direct tables take beyond what they need

// Gives a region its first table, of the form and size that the last one had use for. False: no
// memory.
bool tide_live_table_first(struct tide_station *s, uint64_t *region);

// Replaces a table by one that fits what lives in it and one block more (NULL: none). The caller is
// in no region. False: it cannot be done.
bool tide_live_rebuild(struct tide_station *self, uint64_t *region,
                       const struct tide_newcomer *more);

// The kernel gave memory, or did not.
void tide_live_note_refusal(const void *memory);
