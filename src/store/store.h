// SPDX-License-Identifier: Apache-2.0
//
// The writer's half of the store: where its tables are, and the pieces that are written rarely
// (nodes, modules, text, thread slots). How it begins is in mapping.c, what happens at every event
// in book.h and live.h.
#pragma once
#include "rt/base.h"
#include "store/layout.h"

// Parts of cells, each kind in a table of its own.
enum tide_annex_kind { TIDE_ENDS, TIDE_PAST, TIDE_HIST, TIDE_TOUCHES, TIDE_ANNEX_KINDS };

// The store as this process knows it: private memory, which is what decides where we write
// (layout.h, invariant 7). One per process; all zero until a store is attached.
struct tide_store {
  char *base;
  struct tide_store_header *header;
  struct tide_cell *cells;
  // Tables that events need, each with its first elements apart (layout.h): where those are, and
  // where the table would begin if all were with the rest. To be chosen without a branch: which of
  // a program's stacks have near annexes is as good as random.
  char *ends[2], *hists[2], *owners[2];
  uint64_t annex_mask; // of the bits of a streak that may be the number of an annex
  struct tide_late_chunk *lates;
  struct tide_store_children *children;
  uint64_t bytes;
  struct tide_store_areas areas;
  uint32_t n_cells, n_nodes, n_slots, n_modules, n_text; // handed out so far
  uint32_t n_annexes[TIDE_ANNEX_KINDS];
  uint32_t code_gen; // rises when code is unloaded; atomic
  bool on_disk;      // in a file on some disk, which may fill up
  bool inherited;    // the kernel could not be asked to leave it out of fork children
};
extern struct tide_store tide_store;

TIDE_HOT struct tide_owner *tide_owner_at(uint32_t cell)
{
  return (struct tide_owner *)tide_store.owners[cell >= TIDE_NEAR_OWNERS] + cell;
}

// Ends and histograms are found by their offset in the table, which is in their cell's streaks.
TIDE_HOT struct tide_ends *tide_ends_at(uint64_t offset)
{
  bool far = offset >= TIDE_NEAR_ENDS * sizeof(struct tide_ends);
  return (struct tide_ends *)(tide_store.ends[far] + offset);
}

TIDE_HOT struct tide_hist *tide_hist_at(uint64_t offset)
{
  bool far = offset >= TIDE_NEAR_HISTS * sizeof(struct tide_hist);
  return (struct tide_hist *)(tide_store.hists[far] + offset);
}

static inline char *tide_table_at(const struct tide_area *area, uint32_t i)
{
  return tide_store.base + (i < area->n_near ? area->near_offset : area->offset);
}

static inline struct tide_past *tide_past_at(uint32_t i)
{
  return (struct tide_past *)tide_table_at(&tide_store.areas.pasts, i) + i;
}

static inline struct tide_touches *tide_touches_at(uint32_t i)
{
  return (struct tide_touches *)tide_table_at(&tide_store.areas.touches, i) + i;
}

static inline struct tide_node *tide_node_at(uint32_t i)
{
  return (struct tide_node *)tide_table_at(&tide_store.areas.nodes, i) + i;
}

static inline struct tide_thread_slot *tide_slot_at(uint32_t i)
{
  return (struct tide_thread_slot *)tide_table_at(&tide_store.areas.slots, i) + i;
}

static inline struct tide_store_module *tide_module_at(uint32_t i)
{
  return (struct tide_store_module *)tide_table_at(&tide_store.areas.modules, i) + i;
}

// Who has a part in the live total: see total.h. Private memory as well, but written by threads
// that publish; so it is apart from the above, which everybody reads.
struct tide_crowd {
  _Alignas(64) uint32_t turn; // rises when everybody is to look
  int64_t share;              // a thread may hold back as much
  int64_t slack;              // all of them, at any moment
  int64_t next_total;         // beyond, the share may be larger
  uint64_t next_disturbed;    // likewise
  uint64_t peak;              // of the crowd, and its epoch: see raise_peak()
  // Under the lock.
  struct tide_writer *lone;  // NULL: nobody is alone. Atomic: who it is reads it in an event
  struct tide_writer *awake; // a list
  uint32_t n_awake;
  uint32_t n_shares;                        // threads that what is held back is shared out among
  int64_t loosest;                          // share that a thread may still go by
  uint64_t exact_until;                     // disturbances, until which every event is published
  uint64_t lone_since, may_claim_at, pause; // ticks
  uint32_t peaks_restarted;                 // as in the header, which is not believed
};
extern struct tide_crowd tide_crowd;
enum { TIDE_LONG_STREAK = 64 }; // of one that publishes undisturbed, and asks to be alone

// Sees to it that a part of the store can be written. False: there is no room on its disk.
bool tide_store_back(const void *at, uint64_t bytes);

// The store as a mapping of this process: how large it is, how it is laid out and becomes the
// process's store, and what a fork child has of it (mapping.c).

// Bytes of address space a store takes. Sparse: only what is written costs memory. limit_bytes is
// how much address space may be used in all (RLIMIT_AS); ~0 for no limit.
uint64_t tide_store_bytes(uint64_t limit_bytes);

// Lays out the zeroed mapping at base and makes it the process's store. The identity fields of
// the header (pid, clocks, text) are the caller's to fill before state becomes RECORDING. False:
// there is no room on the disk for even its beginning, or no memory.
bool tide_store_attach(void *base, uint64_t bytes, bool on_disk);

// Asks the kernel to leave the store out of fork children, but for the page where they count
// themselves. wipes: it wipes what it is asked to wipe there, so that a child always knows itself.
void tide_store_disinherit(bool wipes);
// In a fork child: unmaps what it has of its parent's store all the same, where it could not be
// disinherited. The page to count itself stays until tide_store_forsake().
void tide_store_unmap_inherited(void);
// In a fork child: resets the locks, whose holders stayed in the parent, and forgets the parent's
// store. Gives the page to count oneself.
struct tide_store_children *tide_store_after_fork(void);
void tide_store_forsake(struct tide_store_children *parents);

// In a fork child: resets the locks, whose holders stayed in the parent, and forgets the store.
void tide_store_forget(void);

// Everybody looks up (record/thread.h): code was unloaded, or recording has ended.
void tide_store_code_changed(void);
// The header as the supervisor sees it is looked at no more.
void tide_store_turn_away(void);
// Live bytes, as far as they are known while threads go on.
int64_t tide_store_live_bytes(void);

// A string into the text area; returns its offset, 0 (an empty string) when there is no room.
uint32_t tide_store_text(const char *text, size_t n);

// Registers a module; returns its id, 0 ("unknown") when there is no room.
uint32_t tide_store_module_add(const struct tide_store_module *module);

enum {
  TIDE_NODE_ROOT_NONE = 0,
  TIDE_NODE_ROOT_PAGES = 1,
  TIDE_NODE_ROOT_LOST = 2,
  TIDE_NODE_ROOT_CUT = 3, // the walk ended before an outermost frame
  TIDE_NODE_FIRST = 4,
};

bool tide_nodes_attach(void); // no nodes yet in the store just attached; false: no memory
// The node of a frame below a parent, made if need be; 0: there is no room for it. The caller holds
// the lock from begin to end: a stack's nodes are made one after the other.
void tide_node_begin(void);
uint32_t tide_node_get(uint32_t parent, uint64_t frame, uint32_t flags);
void tide_node_end(void);

// Thread slots. A slot belongs to one thread at a time and keeps its cells when it is handed on.
uint32_t tide_slot_new(void);                              // 0: none left
void tide_slot_count_owner(struct tide_thread_slot *slot); // a thread took it, not one event alone

// The first of n cells, or of n annexes, that are the caller's; 0: there are none left.
uint32_t tide_cell_chunk(uint32_t n);
uint32_t tide_annex_chunk(enum tide_annex_kind kind, uint32_t n);
