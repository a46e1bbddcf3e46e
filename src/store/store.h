// SPDX-License-Identifier: Apache-2.0
//
// The writer's half of the store: laying it out, and the pieces that are written rarely (nodes,
// modules, text, thread slots). What happens at every event is in book.h and live.h.
#pragma once
#include "rt/base.h"
#include "store/layout.h"

// Where the parts of the mapped store are. One per process; all NULL until a store is attached.
struct tide_store {
  char *base;
  struct tide_store_header *header;
  struct tide_cell *cells;
  struct tide_hist *hists, *carries;
  struct tide_owner *owners;
  struct tide_node *nodes;
  struct tide_thread_slot *slots;
  struct tide_store_module *modules;
  struct tide_past *pasts;
  struct tide_late_chunk *lates;
  bool on_disk; // in a file on some disk, which may fill up: see tide_store_back()
};
extern struct tide_store tide_store;

// Bytes of address space a store takes. Sparse: only what is written costs memory. limit_bytes is
// how much address space may be used in all (RLIMIT_AS); ~0 for no limit.
uint64_t tide_store_bytes(uint64_t limit_bytes);

// Lays out the zeroed mapping at base and makes it the process's store. The identity fields of
// the header (pid, clocks, text) are the caller's to fill before state becomes RECORDING. False:
// there is no room on the disk for even its beginning.
bool tide_store_attach(void *base, uint64_t bytes, bool on_disk);
void tide_store_after_fork(void); // resets the locks: their holders stayed in the parent

// A string into the text area; returns its offset, 0 (an empty string) when there is no room.
uint32_t tide_store_text(const char *text, size_t n);

// Registers a module; returns its id, 0 ("unknown") when there is no room.
uint32_t tide_store_module_add(const struct tide_store_module *module);

// One frame on its way into the trie.
struct tide_node_key {
  uint64_t hash;  // of the stack up to and including this frame
  uint64_t frame; // as in struct tide_node, without the module
  uint32_t flags;
};
enum {
  TIDE_NODE_ROOT_NONE = 0,
  TIDE_NODE_ROOT_PAGES = 1,
  TIDE_NODE_ROOT_LOST = 2,
  TIDE_NODE_ROOT_CUT = 3, // the walk ended before an outermost frame
  TIDE_NODE_FIRST = 4,
};

// Looks up a node by the hash of its whole prefix; 0: not known.
uint32_t tide_node_find(uint64_t hash);

// Adding nodes: the caller holds the lock from begin to end, so that prefixes stay closed. Returns
// the new node's id, or 0 when the table is full.
void tide_node_begin(void);
uint32_t tide_node_add(uint64_t hash, uint64_t frame, uint32_t parent, uint32_t flags);
void tide_node_end(void);

// Thread slots. A slot belongs to one thread at a time and keeps its cells when it is handed on.
struct tide_thread_slot *tide_slot_new(void); // NULL: none left
void tide_slot_wake(struct tide_thread_slot *slot, uint32_t tid, uint64_t now);
void tide_slot_count_owner(struct tide_thread_slot *slot); // a thread took it, not one event alone
void tide_slot_rest(struct tide_thread_slot *slot);

// A chunk of cells for a slot; false: no cells left.
bool tide_cell_chunk(struct tide_thread_slot *slot);
