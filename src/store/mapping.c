// SPDX-License-Identifier: Apache-2.0
//
// Where each table of a store lies, and what its first bytes are.
#include "store/store.h"

#include "rt/cost.h"
#include "rt/sys.h"
#include "store/late.h"
#include "store/live_map.h"
#include "store/total.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

// Capacities. What grows with stacks follows from the number of cells: every cell may have one
// annex of each kind, and a few nodes of its own. The rest is smaller in a small store only.
enum {
  MOST_CELLS_LOG2 = TIDE_LIVE_CELL_BITS < TIDE_NODE_BITS ? TIDE_LIVE_CELL_BITS : TIDE_NODE_BITS,
  FEWEST_CELLS_LOG2 = 13,
  SMALL_CELLS_LOG2 = 22,
  NODES_PER_CELL_LOG2 = 3,
  MOST_SLOTS = 1 << 16,
  MOST_MODULES = 1 << 14,
  MOST_TEXT = 16 << 20,
};

static uint64_t area(struct tide_area *ret, uint64_t at, uint64_t n, uint64_t bytes_each)
{
  *ret = (struct tide_area){.offset = at, .capacity = n};
  return (at + n * bytes_each + 4095) & ~4095ull;
}

static void begin_near(struct tide_area *area, uint32_t at, uint32_t n)
{
  area->near_offset = at;
  area->n_near = n < area->capacity ? n : (uint32_t)area->capacity;
}

static uint64_t lay_out(struct tide_store_areas *a, int cells_log2)
{
  int halvings = cells_log2 < SMALL_CELLS_LOG2 ? SMALL_CELLS_LOG2 - cells_log2 : 0;
  int nodes_log2 = cells_log2 + NODES_PER_CELL_LOG2;
  uint64_t at = TIDE_CELLS_AT, cells = 1ull << cells_log2;
  uint64_t nodes = 1ull << (nodes_log2 < TIDE_NODE_BITS ? nodes_log2 : TIDE_NODE_BITS);
  area(&a->ranges, TIDE_RANGES_AT, TIDE_SYS_MAX_RANGES, sizeof(struct tide_range));
  at = area(&a->cells, at, cells, sizeof(struct tide_cell));
  at = area(&a->modules, at, MOST_MODULES >> halvings / 2, sizeof(struct tide_store_module));
  at = area(&a->slots, at, MOST_SLOTS >> halvings, sizeof(struct tide_thread_slot));
  at = area(&a->text, at, MOST_TEXT >> halvings, 1);
  at = area(&a->nodes, at, nodes, sizeof(struct tide_node));
  at = area(&a->owners, at, cells, sizeof(struct tide_owner));
  at = area(&a->ends, at, cells, sizeof(struct tide_ends));
  at = area(&a->pasts, at, cells, sizeof(struct tide_past));
  at = area(&a->hists, at, cells, sizeof(struct tide_hist));
  at = area(&a->carries, at, cells, sizeof(struct tide_hist));
  at = area(&a->touches, at, cells, sizeof(struct tide_touches));
  // Late chunks are used again and again, from the first on.
  at = area(&a->lates, at, TIDE_LATE_CHUNKS >> halvings, sizeof(struct tide_late_chunk));
  at = area(&a->moments, at, TIDE_MOMENTS, sizeof(struct tide_store_moment));
  at = (at + TIDE_CHILDREN_BYTES - 1) & ~(TIDE_CHILDREN_BYTES - 1ull);
  area(&a->children, at, 1, sizeof(struct tide_store_children));
  begin_near(&a->slots, TIDE_NEAR_SLOTS_AT, TIDE_NEAR_SLOTS);
  begin_near(&a->text, TIDE_NEAR_TEXT_AT, TIDE_NEAR_TEXT);
  begin_near(&a->modules, TIDE_NEAR_MODULES_AT, TIDE_NEAR_MODULES);
  begin_near(&a->nodes, TIDE_NEAR_NODES_AT, TIDE_NEAR_NODES);
  begin_near(&a->owners, TIDE_NEAR_OWNERS_AT, TIDE_NEAR_OWNERS);
  begin_near(&a->ends, TIDE_NEAR_ENDS_AT, TIDE_NEAR_ENDS);
  begin_near(&a->hists, TIDE_NEAR_HISTS_AT, TIDE_NEAR_HISTS);
  begin_near(&a->pasts, TIDE_NEAR_PASTS_AT, TIDE_NEAR_PASTS);
  return at + TIDE_CHILDREN_BYTES;
}

// The largest store of at most so many bytes; its cells, as a power of two. There is a least one.
static int largest_within(uint64_t bytes)
{
  struct tide_store_areas areas;
  int cells_log2 = MOST_CELLS_LOG2;
  while (cells_log2 > FEWEST_CELLS_LOG2 && lay_out(&areas, cells_log2) > bytes)
    cells_log2--;
  return cells_log2;
}

// A limited process gets a store of at most 1/16 of what it may map.
uint64_t tide_store_bytes(uint64_t limit_bytes)
{
  struct tide_store_areas areas;
  return lay_out(&areas, largest_within(limit_bytes / 16));
}

static void special_node(uint32_t id, uint32_t flags)
{
  *tide_node_at(id) = (struct tide_node){.flags = flags};
}

// What begins with something: node, slot, module and offset 0 mean "none".
static void publish_beginning(struct tide_store_header *h)
{
  h->stamp = (struct tide_stamp){.epoch = 1, .interval = TIDE_FIRST_INTERVAL};
  h->areas = tide_store.areas;
  h->n_cells = tide_store.n_cells = TIDE_FIRST_CELL;
  h->n_nodes = tide_store.n_nodes = TIDE_NODE_FIRST;
  h->n_slots = tide_store.n_slots = 1;
  h->n_modules = tide_store.n_modules = 1;
  h->n_ends = tide_store.n_annexes[TIDE_ENDS] = 1;
  h->n_pasts = tide_store.n_annexes[TIDE_PAST] = 1;
  h->n_hists = tide_store.n_annexes[TIDE_HIST] = 1;
  h->n_touches = tide_store.n_annexes[TIDE_TOUCHES] = 1;
  tide_store.n_text = 1;
  h->version = TIDE_STORE_VERSION;
  h->store_bytes = tide_store.bytes;
}

bool tide_store_attach(void *base, uint64_t bytes, bool on_disk)
{
  struct tide_store_areas a;
  char *b = base;
  if (lay_out(&a, largest_within(bytes)) > bytes)
    return false;
  tide_store = (struct tide_store){
      .base = b,
      .header = (struct tide_store_header *)b,
      .cells = (struct tide_cell *)(b + a.cells.offset),
      .ends = {b + TIDE_NEAR_ENDS_AT, b + a.ends.offset},
      .hists = {b + TIDE_NEAR_HISTS_AT, b + a.hists.offset},
      .owners = {b + TIDE_NEAR_OWNERS_AT, b + a.owners.offset},
      .lates = (struct tide_late_chunk *)(b + a.lates.offset),
      .children = (struct tide_store_children *)(b + a.children.offset),
      .annex_mask = (a.ends.capacity - 1) * TIDE_STREAK_ANNEX_UNIT,
      .bytes = bytes,
      .areas = a,
      .on_disk = on_disk,
      .inherited = true,
  };
  tide_sys_publish(NULL, NULL); // a store before this one may be gone
  tide_late_attach();
  tide_total_attach();
  if (!tide_store_back(b, TIDE_CELLS_AT) ||
      !tide_store_back(tide_store.children, sizeof *tide_store.children) || !tide_nodes_attach())
    return false;
  publish_beginning(tide_store.header);
  special_node(TIDE_NODE_ROOT_PAGES, TIDE_FRAME_PAGES);
  special_node(TIDE_NODE_ROOT_LOST, TIDE_FRAME_LOST);
  special_node(TIDE_NODE_ROOT_CUT, TIDE_FRAME_CUT);
  if (!on_disk) // whoever reads a file comes when the process is gone
    tide_sys_publish((struct tide_range *)(b + a.ranges.offset), &tide_store.header->n_ranges);
  memcpy(tide_store.header->magic, TIDE_STORE_MAGIC, 8);
  return true;
}

void tide_store_disinherit(bool wipes)
{
  uint64_t bytes = tide_store.areas.children.offset;
  tide_store.inherited =
      !wipes || tide_sys_emulated() ||
      tide_sys_failed(TIDE_SYS(SYS_madvise, tide_store.base, bytes, MADV_DONTFORK));
}

void tide_store_unmap_inherited(void)
{
  if (tide_store.inherited && tide_store.base)
    TIDE_SYS(SYS_munmap, tide_store.base, tide_store.areas.children.offset);
  tide_store.inherited = false;
}

struct tide_store_children *tide_store_after_fork(void)
{
  struct tide_store_children *parents = tide_store.children;
  tide_sys_publish(NULL, NULL);
  tide_cold_cycles = 0;
  tide_store_unmap_inherited();
  tide_sys_forget_map(tide_store.base, tide_store.bytes);
  tide_store_forget();
  return parents;
}

void tide_store_forsake(struct tide_store_children *parents)
{
  TIDE_SYS(SYS_munmap, parents, TIDE_CHILDREN_BYTES);
}
