// SPDX-License-Identifier: Apache-2.0
//
// Reading a store from outside: a memfd that a target is writing at this very moment, or a file
// that one left behind. The other side may be in the middle of an update, may have died there, may
// be broken or hostile; so
//  1. everything is read by pread into memory of our own: no fault when the file shrinks, no value
//     that changes between check and use, no address space, and holes stay holes (a load from a
//     mapped hole of a memfd would allocate the page). Only the cells of a memfd that cannot
//     shrink, once there are many, are read in place, four to ten times faster: nothing is
//     decided by their values, and they have no holes to speak of;
//  2. where the tables are is checked once and kept: later changes of the header's areas are
//     ignored;
//  3. every count is cut to its table, and every index taken from the store is checked by whoever
//     uses it: nodes here, the rest in store_read.c.
#pragma once
#include "base/err.h"
#include "capture/store_runs.h"
#include "store/layout.h"
#include <stdbool.h>
#include <stddef.h>

enum tide_stack_kind { TIDE_STACK_HEAP, TIDE_STACK_PAGES, TIDE_STACK_LOST };

struct tide_store_map { // a table in place; items NULL: not mapped
  const void *items;
  void *base;
  size_t base_bytes;
};

struct tide_store_view {
  int fd; // owned; -1 when closed
  uint64_t file_bytes;
  bool ready;                      // identity and areas have been checked
  struct tide_store_header header; // as of the last refresh
  struct tide_store_areas areas;   // as checked
  struct tide_node *nodes;         // as of the last tide_store_view_nodes(), parents checked
  uint8_t *kinds;                  // enum tide_stack_kind of each
  size_t n_nodes, cap_nodes;
  struct tide_store_map cells_map, owners_map, pasts_map;
  struct tide_store_runs runs;      // as of the last walk
  char *text;                       // a piece of the text area, as of the last refresh; NULL: none
  uint64_t text_from;               // where in the area it begins
  struct tide_store_header *shared; // the header in place, to be written; NULL: not mapped
};

// What can be had without touching the cells: a few lines per thread.
struct tide_store_totals {
  int64_t live_bytes, page_bytes;
};

// Threads keep 52 bits of their ticks: at 1 GHz, 52 days since the machine started. The rest is
// that of the image's own start, which has all of them.
#define TIDE_STORE_TICK_MASK ((UINT64_C(1) << 52) - 1)
static inline uint64_t tide_store_ticks(const struct tide_store_header *header, uint64_t ticks)
{
  uint64_t since = (ticks - header->start_ticks) & TIDE_STORE_TICK_MASK;
  if (since > TIDE_STORE_TICK_MASK / 2) // a little before
    since -= TIDE_STORE_TICK_MASK + 1;
  return ticks ? header->start_ticks + since : 0; // 0: never
}

// Takes over fd. The store may still be empty.
enum tide_err tide_store_view_open(struct tide_store_view *view, int fd, struct tide_diag *diag);
void tide_store_view_close(struct tide_store_view *view);

// Reads the header again. TIDE_ERR_EMPTY while nobody has begun to write; an error of another kind
// is final: this is no store of ours.
enum tide_err tide_store_view_refresh(struct tide_store_view *view, struct tide_diag *diag);

// Up to n bytes at an offset in the file; what cannot be had is zero.
void tide_store_view_read(const struct tide_store_view *view, uint64_t offset, void *to, size_t n);
// Elements [first, first + n) of an area; what lies outside is zero.
void tide_store_view_items(const struct tide_store_view *view, const struct tide_area *area,
                           size_t bytes_each, uint64_t first, void *to, size_t n);
// The NUL-terminated string at an offset of the text area, at most max bytes; owned copy.
char *tide_store_view_text(struct tide_store_view *view, uint32_t offset, size_t max);

void tide_store_view_totals(const struct tide_store_view *view, struct tide_store_totals *ret);

// Brings view->nodes up to date with the header. Node ids from the store are valid when below
// view->n_nodes; parents are smaller than their children, always.
void tide_store_view_nodes(struct tide_store_view *view);

// Walks the cells in use, in blocks. The visitor gets cells[i] and owners[i] for i < n, what waits
// included; cells whose owner has no stack (yet), or one that is not a node, have owners[i].stack
// == 0.
struct tide_cell_block {
  uint32_t first; // cell id of cells[0]
  uint32_t n;
  const struct tide_cell *cells;
  const struct tide_owner *owners;
};
typedef void tide_cell_visit(void *context, const struct tide_cell_block *block);
void tide_store_view_cells(struct tide_store_view *view, tide_cell_visit *visit, void *context);

// For a visitor: first the pasts of the wanted ones of its cells, then these cells once more, as
// they are now; copies. Of others there may be anything.
void tide_store_view_again(const struct tide_store_view *view, const struct tide_cell_block *block,
                           const bool *wanted, struct tide_past *ret_pasts,
                           struct tide_cell *ret_cells);
#define TIDE_STORE_BLOCK_CELLS 512u // the most a visitor is given at once

// The header of a store that a target is writing, for what the supervisor writes there; NULL when
// it may shrink under us. Valid until the view is closed.
struct tide_store_header *tide_store_view_shared(struct tide_store_view *view);
