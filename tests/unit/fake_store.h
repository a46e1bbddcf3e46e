// SPDX-License-Identifier: Apache-2.0
//
// A store made by hand, as a recorder would lay it out, with numbers that a test chooses. Uses
// nothing but libc, so that a stand-in for a recorded program can use it too.
#pragma once
#include "store/layout.h"
#include <stddef.h>

#define FAKE_STORE_BYTES (4u << 20)
#define FAKE_PID 4242u

struct fake_store {
  char *base; // the mapping, shared
  struct tide_store_header *header;
  struct tide_thread_slot *slots;
  struct tide_node *nodes;
  struct tide_cell *cells;
  struct tide_ends *ends; // every cell has each of its parts, under its own number
  struct tide_hist *hists, *carries;
  struct tide_owner *owners;
  struct tide_store_module *modules;
  struct tide_past *pasts;
  struct tide_touches *touches;
  struct tide_late_chunk *lates;
  struct tide_range *ranges; // none to begin with
  uint32_t text_next;
  uint32_t seen_interval; // that events find in the header; 0: the one that is there
};

// Lays out fd, which has FAKE_STORE_BYTES of zeros, as a store that records. The nodes 1 to 3 are
// the roots of pages, lost events and cut stacks.
void fake_store_map(struct fake_store *store, int fd);
void fake_store_unmap(struct fake_store *store);

uint32_t fake_store_text(struct fake_store *store, const char *text, size_t n);
uint32_t fake_store_module(struct fake_store *store, const char *path, uint64_t start,
                           uint64_t end);
uint32_t fake_store_node(struct fake_store *store, uint64_t frame, uint32_t parent, uint32_t flags);
uint32_t fake_store_slot(struct fake_store *store, uint32_t tid, const char *name);
// A cell without events; epoch as at this moment.
struct tide_cell *fake_store_cell(struct fake_store *store, uint32_t stack, uint32_t slot);
// The same bookkeeping as the recorder's with one thread: allocates or frees at a cell.
void fake_store_alloc(struct fake_store *store, struct tide_cell *cell, uint64_t bytes);
void fake_store_free(struct fake_store *store, struct tide_cell *cell, uint64_t bytes);
// The same of a block that was born in an interval that may be over. One thread: chunks follow one
// another.
void fake_store_free_late(struct fake_store *store, struct tide_cell *cell, uint64_t bytes,
                          uint32_t born);
uint32_t fake_store_interval(const struct fake_store *store);
