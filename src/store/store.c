// SPDX-License-Identifier: Apache-2.0
//
// Laying out a store, and its append-only tables but that of nodes. Locks for what is appended:
// these are the moments a stack, module or thread is seen for the first time. How much of a table
// was handed out is known here; the header is told.
#include "store/store.h"

#include "rt/cold.h"
#include "rt/lock.h"
#include "rt/sys.h"
#include "store/late.h"
#include "store/nodes.h"
#include "store/total.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct tide_store tide_store;
static struct tide_lock slot_lock, table_lock;
static struct tide_store_header turned_away;

// Capacities of an unlimited store; a limited one is halved until it fits.
struct capacities {
  uint64_t slots, nodes, cells, modules, text, lates;
};
static const struct capacities FULL = {
    .slots = 1 << 16,
    .nodes = 1 << 25,
    .cells = 1 << 22,
    .modules = 1 << 14,
    .text = 16 << 20,
    .lates = TIDE_LATE_CHUNKS, // 32 MiB; they are used again and again, from the first on
};
enum { MAX_HALVINGS = 9, NO_SUCH_ADVICE = 9999 };

// Touching a page of a file that finds no room on its disk would kill the program; asking first
// does not. A kernel that cannot be asked (before 5.14), or may not be, is trusted.
bool tide_store_back(const void *at, uint64_t bytes)
{
  if (!tide_store.on_disk || tide_sys_sandboxed())
    return true;
  uint64_t first = (uint64_t)at & ~(tide_sys_page_bytes - 1);
  uint64_t n = tide_sys_whole_pages((uint64_t)at + bytes - first);
  long ret = TIDE_SYS(SYS_madvise, first, n, MADV_POPULATE_WRITE);
  return !tide_sys_failed(ret) || ret == -EINVAL;
}

static uint64_t area(struct tide_area *ret, uint64_t at, uint64_t n, uint64_t bytes_each)
{
  *ret = (struct tide_area){at, n};
  return (at + n * bytes_each + 4095) & ~4095ull;
}

static uint64_t lay_out(struct tide_store_areas *a, int halvings)
{
  uint64_t at = TIDE_STORE_HEADER_BYTES, cells = FULL.cells >> halvings;
  at = area(&a->slots, at, FULL.slots >> halvings, sizeof(struct tide_thread_slot));
  at = area(&a->modules, at, FULL.modules >> halvings / 2, sizeof(struct tide_store_module));
  at = area(&a->text, at, FULL.text >> halvings, 1);
  at = area(&a->nodes, at, FULL.nodes >> halvings, sizeof(struct tide_node));
  at = area(&a->cells, at, cells, sizeof(struct tide_cell));
  at = area(&a->hists, at, cells, sizeof(struct tide_hist));
  at = area(&a->carries, at, cells, sizeof(struct tide_hist));
  at = area(&a->owners, at, cells, sizeof(struct tide_owner));
  at = area(&a->pasts, at, cells, sizeof(struct tide_past));
  at = area(&a->ranges, at, TIDE_SYS_MAX_RANGES, sizeof(struct tide_range));
  at = area(&a->lates, at, FULL.lates >> halvings, sizeof(struct tide_late_chunk));
  at = (at + TIDE_CHILDREN_BYTES - 1) & ~(TIDE_CHILDREN_BYTES - 1ull);
  area(&a->children, at, 1, sizeof(struct tide_store_children));
  return at + TIDE_CHILDREN_BYTES;
}

// A limited process gets a store of at most 1/16 of what it may map.
static int halvings_for(uint64_t limit_bytes)
{
  struct tide_store_areas areas;
  int halvings = 0;
  while (halvings < MAX_HALVINGS && lay_out(&areas, halvings) > limit_bytes / 16)
    halvings++;
  return halvings;
}

uint64_t tide_store_bytes(uint64_t limit_bytes)
{
  struct tide_store_areas areas;
  return lay_out(&areas, halvings_for(limit_bytes));
}

static void special_node(uint32_t id, uint32_t flags)
{
  tide_store.nodes[id] = (struct tide_node){.flags = flags};
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
  tide_store.n_text = 1;
  h->version = TIDE_STORE_VERSION;
  h->store_bytes = tide_store.bytes;
}

bool tide_store_attach(void *base, uint64_t bytes, bool on_disk)
{
  struct tide_store_areas a;
  int halvings = 0;
  while (halvings < MAX_HALVINGS && lay_out(&a, halvings) > bytes)
    halvings++;
  char *b = base;
  if (lay_out(&a, halvings) > bytes)
    return false;
  tide_store = (struct tide_store){
      .base = b,
      .header = (struct tide_store_header *)b,
      .cells = (struct tide_cell *)(b + a.cells.offset),
      .hists = (struct tide_hist *)(b + a.hists.offset),
      .carries = (struct tide_hist *)(b + a.carries.offset),
      .owners = (struct tide_owner *)(b + a.owners.offset),
      .nodes = (struct tide_node *)(b + a.nodes.offset),
      .slots = (struct tide_thread_slot *)(b + a.slots.offset),
      .modules = (struct tide_store_module *)(b + a.modules.offset),
      .pasts = (struct tide_past *)(b + a.pasts.offset),
      .lates = (struct tide_late_chunk *)(b + a.lates.offset),
      .children = (struct tide_store_children *)(b + a.children.offset),
      .bytes = bytes,
      .areas = a,
      .on_disk = on_disk,
      .inherited = true,
  };
  tide_sys_publish(NULL, NULL); // a store before this one may be gone
  tide_late_attach();
  tide_total_attach();
  if (!tide_store_back(b, sizeof *tide_store.header) ||
      !tide_store_back(tide_store.children, sizeof *tide_store.children) || !tide_nodes_attach())
    return false;
  publish_beginning(tide_store.header);
  special_node(TIDE_NODE_ROOT_PAGES, TIDE_NODE_PAGES);
  special_node(TIDE_NODE_ROOT_LOST, TIDE_NODE_LOST);
  special_node(TIDE_NODE_ROOT_CUT, TIDE_NODE_CUT);
  if (!on_disk) // whoever reads a file comes when the process is gone
    tide_sys_publish((struct tide_range *)(b + a.ranges.offset), &tide_store.header->n_ranges);
  memcpy(tide_store.header->magic, TIDE_STORE_MAGIC, 8);
  return true;
}

// An emulator of the kernel may take any advice and follow none.
void tide_store_disinherit(bool wipes)
{
  char *b = tide_store.base;
  bool honest = TIDE_SYS(SYS_madvise, b, tide_sys_page_bytes, NO_SUCH_ADVICE) == -EINVAL;
  tide_store.inherited =
      !wipes || !honest ||
      tide_sys_failed(TIDE_SYS(SYS_madvise, b, tide_store.areas.children.offset, MADV_DONTFORK));
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
  slot_lock.held = table_lock.held = 0;
  tide_store_unmap_inherited();
  tide_sys_forget_map(tide_store.base, tide_store.bytes);
  tide_store = (struct tide_store){0}; // another mapping may be there by now
  return parents;
}

void tide_store_forsake(struct tide_store_children *parents)
{
  TIDE_SYS(SYS_munmap, parents, TIDE_CHILDREN_BYTES);
}

// The generation is raised before the header's, which everybody compares: whoever sees that one
// differ finds this one raised, sooner or later.
void tide_store_code_changed(void)
{
  uint32_t next = tide_add_acq_rel(&tide_store.code_gen, 1) + 1;
  tide_store_relaxed(&tide_store.header->pulse.code_gen, next);
}

// Events that are under way go on with the one or the other.
void tide_store_turn_away(void)
{
  turned_away.pulse.code_gen = tide_load_relaxed(&tide_store.code_gen);
  tide_store_release(&tide_store.header, &turned_away);
}

int64_t tide_store_live_bytes(void)
{
  int64_t live = 0;
  uint32_t n = tide_load_acquire(&tide_store.n_slots);
  for (uint32_t i = 1; i < n; i++)
    live += tide_load_relaxed(&tide_store.slots[i].held);
  return live;
}

uint32_t tide_store_text(const char *text, size_t n)
{
  const struct tide_area *area = &tide_store.areas.text;
  tide_lock_take(&table_lock);
  uint32_t at = tide_store.n_text;
  char *to = tide_store.base + area->offset + at;
  bool fits = n < area->capacity && at + n + 1 <= area->capacity && tide_store_back(to, n + 1);
  if (fits) {
    memcpy(to, text, n);
    tide_store.n_text = at + (uint32_t)n + 1;
  }
  tide_lock_drop(&table_lock);
  return fits ? at : 0;
}

uint32_t tide_store_module_add(const struct tide_store_module *module)
{
  uint32_t id = tide_store.n_modules;
  if (id == tide_store.areas.modules.capacity ||
      !tide_store_back(&tide_store.modules[id], sizeof *module))
    return 0;
  tide_store.modules[id] = *module;
  tide_store.n_modules = id + 1;
  tide_store_release(&tide_store.header->n_modules, id + 1);
  return id;
}

struct tide_thread_slot *tide_slot_new(void)
{
  struct tide_thread_slot *slot = NULL;
  tide_lock_take(&slot_lock);
  uint32_t id = tide_store.n_slots;
  if (id < tide_store.areas.slots.capacity &&
      tide_store_back(&tide_store.slots[id], sizeof *slot)) {
    slot = &tide_store.slots[id];
    slot->id = id;
    tide_store_release(&tide_store.n_slots, id + 1);
    tide_store_release(&tide_store.header->n_slots, id + 1);
  }
  tide_lock_drop(&slot_lock);
  return slot;
}

void tide_slot_count_owner(struct tide_thread_slot *slot)
{
  slot->n_owners++;
  tide_add_relaxed(&tide_store.header->n_threads, 1);
}

// Cells come in chunks per thread, so that two threads never share a line or (mostly) a page.
uint32_t tide_cell_chunk(uint32_t n)
{
  tide_lock_take(&table_lock);
  uint32_t at = tide_store.n_cells;
  bool fits = n <= tide_store.areas.cells.capacity - at;
  if (fits) {
    tide_store.n_cells = at + n;
    tide_store_relaxed(&tide_store.header->n_cells, at + n);
  }
  tide_lock_drop(&table_lock);
  if (!fits || !tide_store_back(&tide_store.cells[at], n * sizeof *tide_store.cells) ||
      !tide_store_back(&tide_store.hists[at], n * sizeof *tide_store.hists) ||
      !tide_store_back(&tide_store.owners[at], n * sizeof *tide_store.owners) ||
      !tide_store_back(&tide_store.pasts[at], n * sizeof *tide_store.pasts))
    return 0;
  return at;
}
