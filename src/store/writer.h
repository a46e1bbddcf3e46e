// SPDX-License-Identifier: Apache-2.0
//
// A thread's place in the store: its slot, and an index from stack hash to its own cell of that
// stack. The index is 8 bytes per entry (high half of the hash, cell number), private and small,
// so it stays in cache where the shared table of all prefixes (megabytes in a compiler) does not;
// the full hash is confirmed in the owners table.
#pragma once
#include "store/late.h"
#include "store/live_map.h"
#include "store/store.h"

struct tide_annex_chunk { // being handed out
  uint32_t next, end;
};

enum { TIDE_MIXED_LIVES = 16 };

struct tide_writer {
  struct tide_thread_slot *slot;
  uint32_t slot_id;
  uint32_t cell_next, cell_end; // chunk of cells being handed out
  uint32_t index_mask, index_used;
  uint64_t *index;
  bool is_growing; // the latest stack that was looked for in it was new
  // The two most recent blocks: for temporaries, and because most blocks that die young are the
  // latest one, of which all that is needed at its end is kept here.
  uint64_t last, prev; // addresses; 0: none
  struct tide_place last_place;
  struct tide_live last_words; // what was written there
  struct tide_cell *last_cell;
  uint64_t last_birth;       // ticks
  struct tide_cell *waiting; // what the slot's pairs are of; NULL: nothing is waiting
  uint32_t waiting_index;
  // What goes on with the pairs: blocks of this cell (NULL: none) of at most pairs_room bytes.
  // pairs_when is their second word in the live map, pairs_sizes the cell's histogram.
  struct tide_cell *pairs_cell;
  uint64_t pairs_room, pairs_when, pairs_birth;
  uint32_t *pairs_sizes;
  uint32_t mixed_lives;        // so many streaks of one life to come: see tide_lives_add_quickly()
  struct tide_cell *temp_cell; // of the latest block, if it has ended already; else NULL
  // Its part in the total: see total.h.
  int64_t crest, high, low; // of what its slot holds
  int64_t base;             // alone: the total without it
  uint32_t turn;            // of tide_crowd, as last seen
  uint32_t streak;          // times it published without another thread in between
  uint32_t restarts;        // of the peak, when it was last alone
  const uint32_t *idle;     // of its thread: 0 while that is in an event; NULL: not known
  uint32_t *owes;           // of its thread: set, it looks up at the end of an event; may be NULL
  struct tide_writer *next_awake, *prev_awake;
  struct tide_annex_chunk annexes[TIDE_ANNEX_KINDS];
  struct tide_station station;
  struct tide_lates lates;
};

// False: no memory. A writer is never freed: the live map knows it from now on.
bool tide_writer_init(struct tide_writer *w);
// The cell of the given stack, made if need be; falls back to the LOST stack's when the store is
// full, and to NULL when even that cannot be had.
struct tide_cell *tide_writer_cell_new(struct tide_writer *w, uint64_t hash, uint32_t stack);

// Events in the slot's pairs: see pairs.h.
TIDE_HOT bool tide_writer_waits(const struct tide_writer *w)
{
  return w->waiting;
}

TIDE_HOT struct tide_cell *tide_writer_find(struct tide_writer *w, uint64_t hash)
{
  for (uint32_t i = (uint32_t)hash & w->index_mask;; i = (i + 1) & w->index_mask) {
    uint64_t e = w->index[i];
    if (!e)
      return NULL;
    if (!((e ^ hash) >> 32) && TIDE_LIKELY(tide_owner_at((uint32_t)e)->hash == hash))
      return &tide_store.cells[(uint32_t)e];
  }
}

TIDE_HOT void tide_writer_prefetch(const struct tide_writer *w, uint64_t hash)
{
  __builtin_prefetch(&w->index[(uint32_t)hash & w->index_mask], 1);
}
