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
#include "store/layout.h"

#include <stdbool.h>
#include <stddef.h>

// ---- what waits ----
//
// What threads have not booked yet: each one's latest events wait in its slot (store/pairs.h). To
// whoever reads the store they are as good as booked.
//
// A thread may go on with its pairs, or book them, while we read: they count only if they were the
// same before their cell was read and after. Before they are booked they are gone from the slot, so
// they are never seen twice; of a busy thread they may be missing for a moment.

struct tide_store_view;

struct tide_slot_pairs {
  uint32_t slot;
  struct tide_pairs pairs; // as they were found
};
struct tide_store_pairs { // by cell
  struct tide_slot_pairs *items;
  size_t n, cap;
};

// Looks at all slots. What begins to wait later is not looked for.
void tide_store_pairs_find(struct tide_store_view *view);

// Does anything wait for the n cells from `first` on?
bool tide_store_pairs_any(const struct tide_store_view *view, uint32_t first, uint32_t n);
// Adds it to copies of these cells.
void tide_store_pairs_add(const struct tide_store_view *view, uint32_t first, uint32_t n,
                          struct tide_cell *cells);
// The ends of temporaries that wait for one cell, which is in the given interval; false: none.
bool tide_store_pairs_ended(const struct tide_store_view *view, uint32_t cell, uint32_t interval,
                            uint64_t *ret_n, uint64_t *ret_bytes);

// Bytes that wait in a slot.
static inline uint64_t tide_pairs_open_bytes(const struct tide_pairs *pairs)
{
  return pairs->cell && pairs->open ? pairs->open - 1 : 0;
}

// ---- the store ----

struct tide_store_map { // the beginning of a table in place; items NULL: not mapped
  const char *items;    // but for those that are near
  const char *near_items;
  uint64_t n, n_near;
  void *base, *near_base;
  size_t base_bytes, near_base_bytes;
};

// NULL: not mapped. Followed by the next ones of its kind, near or far.
static inline const void *tide_store_map_at(const struct tide_store_map *map, uint64_t i,
                                            size_t bytes_each)
{
  if (!map->items || i >= map->n)
    return NULL;
  return (i < map->n_near ? map->near_items : map->items) + i * bytes_each;
}

struct tide_before;
struct tide_before_cell;

struct tide_store_annexes { // a table of annexes: in place, or a piece of it
  struct tide_store_map map;
  void *piece; // NULL: none was read since the last walk began
  uint64_t first;
  uint32_t n;
};

struct tide_store_view {
  int fd; // owned; -1 when closed
  uint64_t file_bytes;
  bool ready;                      // identity and areas have been checked
  bool used_up;                    // it is read for the last time
  char *head;                      // then: its first TIDE_STORE_HEADER_BYTES; NULL: not read
  struct tide_store_header header; // as of the last refresh
  struct tide_store_areas areas;   // as checked
  uint8_t *kinds; // enum tide_site_kind of each node, as of the last tide_store_view_nodes()
  size_t n_nodes, cap_nodes;
  struct tide_store_map cells_map, owners_map;
  struct tide_store_annexes ends, pasts, hists, touches;
  struct tide_store_pairs pairs;    // as of the last walk
  char *text;                       // a piece of the text area, as of the last refresh; NULL: none
  uint64_t text_from, text_bytes;   // where in the area it begins, and how long it is
  struct tide_store_header *shared; // the header in place, to be written; NULL: not mapped
  const struct tide_before *before; // what was counted before a reset (before.h); NULL: there was
                                    // none. Its owner's, who takes it away
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

// How many threads have joined, the header as it was read or not. One that comes while numbers are
// read may free what others allocate: a sum that has theirs without its own is too high, as far as
// the reader was kept waiting in between. So whoever adds up looks again, some times.
uint32_t tide_store_view_slots_now(const struct tide_store_view *view);
enum { TIDE_STORE_LOOKS = 3 };

void tide_store_view_totals(const struct tide_store_view *view, struct tide_store_totals *ret);

// Brings view->kinds up to date with the header. Node ids from the store are valid when below
// view->n_nodes.
void tide_store_view_nodes(struct tide_store_view *view);
// Nodes [first, first + n), below view->n_nodes: parents are smaller than their children, always.
void tide_store_view_node_rows(const struct tide_store_view *view, size_t first,
                               struct tide_node *to, size_t n);

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

// The target has ended, and the store is read for the last time: what was read is given back as it
// goes, so that a million stacks are not in memory twice.
void tide_store_view_use_up(struct tide_store_view *view);

// See to it that the next walks read in place, if the store is one that cannot shrink.
void tide_store_view_map(struct tide_store_view *view);

#define TIDE_STORE_BLOCK_CELLS 512u // the most a visitor is given at once
// For a visitor: its cells in place, without what waits, if they can be had; else as they were.
const struct tide_cell *tide_store_view_cells_now(const struct tide_store_view *view,
                                                  const struct tide_cell_block *block);

// The header of a store that a target is writing, for what the supervisor writes there; NULL when
// it may shrink under us. Valid until the view is closed.
struct tide_store_header *tide_store_view_shared(struct tide_store_view *view);

// ---- cells with their annexes ----
//
// Cells of a store with their annexes (store/layout.h, invariant 8), wherever those lie. Numbers of
// annexes come from the store: one that is not of its table means no annex.

// A cell and its annexes, copied; what it has not is zero. A single is told as if it had its
// annexes.
struct tide_whole_cell {
  struct tide_cell cell; // its stamp's interval is one; what waits is included
  struct tide_ends ends;
  struct tide_past past;
  struct tide_touches touches;
  // Of a store of samples, whose ends and past say nothing else in their place.
  struct tide_spreads spreads;
  uint64_t peak_blocks_spread, peak_bytes_spread;
  bool has_hist;
  struct tide_hist hist, carry; // if it has
  // Filled by tide_reading_cell() alone: what it had before a reset. Of the numbers above that only
  // grow, this was taken off but for the histograms. NULL: there was none, or it had nothing.
  const struct tide_before_cell *before;
  int64_t before_blocks, before_bytes; // live then
};

// The interval of a cell by its stamp, single or not.
static inline uint32_t tide_stamp_interval(struct tide_stamp stamp)
{
  return stamp.interval & TIDE_SINGLE ? TIDE_SINGLE_ENDED(stamp.interval) : stamp.interval;
}

// For a visitor: cell i of its block.
void tide_whole_cell_read(struct tide_store_view *view, const struct tide_cell_block *block,
                          uint32_t i, bool with_carries, struct tide_whole_cell *ret);

// The closings of a cell whose stamp was as given when it was looked at.
void tide_closings_read(struct tide_store_view *view, const struct tide_cell *cell,
                        struct tide_stamp stamp, struct tide_closing ret[2]);

// What it says of resizes; false: nothing.
bool tide_resizes_read(struct tide_store_view *view, const struct tide_cell *cell,
                       struct tide_past *ret);

// What a cell of ad hoc events counted; false: nothing.
bool tide_events_read(struct tide_store_view *view, const struct tide_cell *cell, uint64_t *ret_n,
                      uint64_t *ret_weight);

// Forgets what was read of annexes: they may have changed. And frees it.
void tide_store_annexes_forget(struct tide_store_view *view);
void tide_store_annexes_done(struct tide_store_view *view);

// In place are the first n items of a table from now on, if they can be.
void tide_store_map_cover(const struct tide_store_view *view, const struct tide_area *area,
                          size_t bytes_each, uint64_t n, struct tide_store_map *map);
void tide_store_map_done(struct tide_store_map *map);
