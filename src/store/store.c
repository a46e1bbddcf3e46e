// SPDX-License-Identifier: Apache-2.0
//
// Laying out a store, and its append-only tables. Hash tables grow by filling a bigger one and
// publishing its offset; readers of the old one find what it has. One lock for everything that is
// appended: these are the moments a stack, module or thread is seen for the first time.
#include "store/store.h"

#include "rt/lock.h"
#include "rt/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct tide_store tide_store;
static struct tide_lock node_lock, slot_lock, table_lock;

enum { FIRST_NODE_LOG2 = 9, NODES_BACKED = 256 };

// Capacities of an unlimited store; a limited one is halved until it fits.
struct capacities {
  uint64_t slots, nodes, tables, cells, modules, text, lates;
};
static const struct capacities FULL = {
    .slots = 1 << 16,
    .nodes = 1 << 25,
    .tables = 3ull << 30, // bytes: all tables ever made, each twice the last
    .cells = 1 << 22,
    .modules = 1 << 14,
    .text = 16 << 20,
    .lates = 1 << 13, // 32 MiB; they are used again and again, from the first on
};
enum { MAX_HALVINGS = 9 };

// Sees to it that a part of the store can be written. Touching a page of a file that finds no room
// on its disk would kill the program; asking first does not. A kernel that cannot be asked (before
// 5.14), or may not be, is trusted.
static bool back(const void *at, uint64_t bytes)
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

static uint64_t lay_out(struct tide_store_header *h, int halvings)
{
  uint64_t at = TIDE_STORE_HEADER_BYTES, cells = FULL.cells >> halvings;
  at = area(&h->slots, at, FULL.slots >> halvings, sizeof(struct tide_thread_slot));
  at = area(&h->modules, at, FULL.modules >> halvings / 2, sizeof(struct tide_store_module));
  at = area(&h->text, at, FULL.text >> halvings, 1);
  at = area(&h->nodes, at, FULL.nodes >> halvings, sizeof(struct tide_node));
  at = area(&h->tables, at, FULL.tables >> halvings, 1);
  at = area(&h->cells, at, cells, sizeof(struct tide_cell));
  at = area(&h->hists, at, cells, sizeof(struct tide_hist));
  at = area(&h->carries, at, cells, sizeof(struct tide_hist));
  at = area(&h->owners, at, cells, sizeof(struct tide_owner));
  at = area(&h->pasts, at, cells, sizeof(struct tide_past));
  at = area(&h->ranges, at, TIDE_SYS_MAX_RANGES, sizeof(struct tide_range));
  return area(&h->lates, at, FULL.lates >> halvings, sizeof(struct tide_late_chunk));
}

// A limited process gets a store of at most 1/16 of what it may map.
static int halvings_for(uint64_t limit_bytes)
{
  struct tide_store_header h;
  int halvings = 0;
  while (halvings < MAX_HALVINGS && lay_out(&h, halvings) > limit_bytes / 16)
    halvings++;
  return halvings;
}

uint64_t tide_store_bytes(uint64_t limit_bytes)
{
  struct tide_store_header h;
  return lay_out(&h, halvings_for(limit_bytes));
}

static bool node_table_grow(uint32_t log2);

static void special_node(uint32_t id, uint32_t flags)
{
  tide_store.nodes[id] = (struct tide_node){.flags = flags};
}

bool tide_store_attach(void *base, uint64_t bytes, bool on_disk)
{
  struct tide_store_header *h = base;
  tide_store.on_disk = on_disk;
  if (!back(h, sizeof *h))
    return false;
  int halvings = 0;
  while (halvings < MAX_HALVINGS && lay_out(h, halvings) > bytes)
    halvings++;
  lay_out(h, halvings);
  char *b = base;
  tide_store = (struct tide_store){
      .base = b,
      .header = h,
      .cells = (struct tide_cell *)(b + h->cells.offset),
      .hists = (struct tide_hist *)(b + h->hists.offset),
      .carries = (struct tide_hist *)(b + h->carries.offset),
      .owners = (struct tide_owner *)(b + h->owners.offset),
      .nodes = (struct tide_node *)(b + h->nodes.offset),
      .slots = (struct tide_thread_slot *)(b + h->slots.offset),
      .modules = (struct tide_store_module *)(b + h->modules.offset),
      .pasts = (struct tide_past *)(b + h->pasts.offset),
      .lates = (struct tide_late_chunk *)(b + h->lates.offset),
      .on_disk = on_disk,
  };
  h->stamp = (struct tide_stamp){.epoch = 1, .interval = TIDE_FIRST_INTERVAL};
  h->n_cells = TIDE_FIRST_CELL;
  h->n_nodes = TIDE_NODE_FIRST;
  h->n_slots = h->n_modules = 1;
  h->text_next = 1;
  h->table_next = h->tables.offset;
  h->version = TIDE_STORE_VERSION;
  h->store_bytes = bytes;
  if (!back(tide_store.nodes, NODES_BACKED * sizeof *tide_store.nodes))
    return false;
  special_node(TIDE_NODE_ROOT_PAGES, TIDE_NODE_PAGES);
  special_node(TIDE_NODE_ROOT_LOST, TIDE_NODE_LOST);
  special_node(TIDE_NODE_ROOT_CUT, TIDE_NODE_CUT);
  if (!node_table_grow(FIRST_NODE_LOG2))
    return false;
  if (!on_disk) // whoever reads a file comes when the process is gone
    tide_sys_publish((struct tide_range *)(b + h->ranges.offset), &h->n_ranges);
  memcpy(h->magic, TIDE_STORE_MAGIC, 8);
  return true;
}

void tide_store_after_fork(void)
{
  tide_sys_publish(NULL, NULL);
  node_lock.held = slot_lock.held = table_lock.held = 0;
}

uint32_t tide_store_text(const char *text, size_t n)
{
  struct tide_store_header *h = tide_store.header;
  tide_lock_take(&table_lock);
  uint32_t at = h->text_next;
  bool fits = at + n + 1 <= h->text.capacity && back(tide_store.base + h->text.offset + at, n + 1);
  if (fits) {
    memcpy(tide_store.base + h->text.offset + at, text, n);
    h->text_next = at + (uint32_t)n + 1;
  }
  tide_lock_drop(&table_lock);
  return fits ? at : 0;
}

uint32_t tide_store_module_add(const struct tide_store_module *module)
{
  struct tide_store_header *h = tide_store.header;
  uint32_t id = h->n_modules;
  if (id == h->modules.capacity || !back(&tide_store.modules[id], sizeof *module))
    return 0;
  tide_store.modules[id] = *module;
  tide_store_release(&h->n_modules, id + 1);
  return id;
}

// A node table: slot 0 holds the log2 of its size, so that one offset describes everything.
struct node_slot {
  uint64_t hash;
  uint32_t node, log2;
};

static struct node_slot *table_at(uint64_t offset)
{
  return (struct node_slot *)(tide_store.base + offset);
}

static void table_put(struct node_slot *t, uint64_t hash, uint32_t node)
{
  uint32_t log2 = t[0].log2, mask = (1u << log2) - 1;
  uint32_t i = (uint32_t)(tide_mix64(hash) >> (64 - log2));
  for (t++; t[i].hash; i = (i + 1) & mask)
    ;
  t[i].node = node;
  tide_store_release(&t[i].hash, hash);
}

static bool node_table_grow(uint32_t log2)
{
  struct tide_store_header *h = tide_store.header;
  uint64_t at = h->table_next, bytes = (sizeof(struct node_slot) << log2) + 4096;
  if (log2 > 31 || at + bytes > h->tables.offset + h->tables.capacity ||
      !back(tide_store.base + at, bytes))
    return false;
  h->table_next = at + bytes;
  struct node_slot *fresh = table_at(at);
  fresh[0].log2 = log2;
  if (h->node_table) {
    const struct node_slot *old = table_at(h->node_table);
    uint32_t n = 1u << old[0].log2;
    for (uint32_t i = 1; i <= n; i++)
      if (old[i].hash)
        table_put(fresh, old[i].hash, old[i].node);
  }
  h->node_log2 = log2;
  tide_store_release(&h->node_table, at); // acquired by tide_node_find
  return true;
}

uint32_t tide_node_find(uint64_t hash)
{
  const struct node_slot *t = table_at(tide_load_acquire(&tide_store.header->node_table));
  uint32_t log2 = t[0].log2, mask = (1u << log2) - 1;
  t++;
  for (uint32_t i = (uint32_t)(tide_mix64(hash) >> (64 - log2));; i = (i + 1) & mask) {
    uint64_t h = tide_load_acquire(&t[i].hash);
    if (h == hash)
      return t[i].node;
    if (!h)
      return 0;
  }
}

void tide_node_begin(void)
{
  tide_lock_take(&node_lock);
}

void tide_node_end(void)
{
  tide_lock_drop(&node_lock);
}

uint32_t tide_node_add(uint64_t hash, uint64_t frame, uint32_t parent, uint32_t flags)
{
  struct tide_store_header *h = tide_store.header;
  uint32_t id = h->n_nodes, slots = 1u << h->node_log2;
  if (id == h->nodes.capacity)
    return 0;
  if (id % NODES_BACKED == 0 &&
      !back(&tide_store.nodes[id], NODES_BACKED * sizeof *tide_store.nodes))
    return 0;
  if (h->node_used * 2ull >= slots && !node_table_grow(h->node_log2 + 1) &&
      h->node_used + 1 >= slots)
    return 0;
  tide_store.nodes[id] = (struct tide_node){frame, parent, flags};
  tide_store_release(&h->n_nodes, id + 1); // a reader sees whole nodes
  table_put(table_at(h->node_table), hash, id);
  h->node_used++;
  return id;
}

struct tide_thread_slot *tide_slot_new(void)
{
  struct tide_store_header *h = tide_store.header;
  uint32_t id = 0;
  tide_lock_take(&slot_lock);
  if (h->n_slots < h->slots.capacity &&
      back(&tide_store.slots[h->n_slots], sizeof *tide_store.slots)) {
    id = h->n_slots;
    tide_store.slots[id].id = id;
    tide_store_release(&h->n_slots, id + 1);
  }
  tide_lock_drop(&slot_lock);
  return id ? &tide_store.slots[id] : NULL;
}

void tide_slot_wake(struct tide_thread_slot *slot, uint32_t tid, uint64_t now)
{
  struct tide_store_header *h = tide_store.header;
  slot->tid = tid;
  slot->adopted_at = now;
  if (!slot->flush_at)
    slot->flush_at = TIDE_FIRST_FLUSH;
  tide_lock_take(&slot_lock);
  uint32_t n_live = h->n_live_threads + 1; // written under the lock alone
  tide_store_relaxed(&h->n_live_threads, n_live);
  if (n_live > h->max_live_threads)
    h->max_live_threads = n_live;
  // A second slot may find the first one's thread gone: what that has not published still counts.
  if ((n_live > 1 || slot->id > 1) && !h->multi) {
    tide_store_relaxed(&h->flush_at, TIDE_MIN_FLUSH);
    tide_store_release(&h->multi, 1);
  }
  tide_lock_drop(&slot_lock);
}

void tide_slot_count_owner(struct tide_thread_slot *slot)
{
  slot->n_owners++;
  tide_add_relaxed(&tide_store.header->n_threads, 1);
}

void tide_slot_rest(struct tide_thread_slot *slot)
{
  struct tide_store_header *h = tide_store.header;
  tide_lock_take(&slot_lock);
  slot->tid = 0;
  tide_store_relaxed(&h->n_live_threads, h->n_live_threads - 1);
  tide_lock_drop(&slot_lock);
}

// Cells come in chunks per thread, so that two threads never share a line or (mostly) a page.
bool tide_cell_chunk(struct tide_thread_slot *slot)
{
  struct tide_store_header *h = tide_store.header;
  uint32_t n = slot->cell_end ? 32 : 8, at = tide_load_relaxed(&h->n_cells);
  // Never over the end and back: somebody might be handed cells in between, and again afterwards.
  do {
    if (at + n > h->cells.capacity)
      return false;
  } while (!__atomic_compare_exchange_n(&h->n_cells, &at, at + n, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  if (!back(&tide_store.cells[at], n * sizeof *tide_store.cells) ||
      !back(&tide_store.hists[at], n * sizeof *tide_store.hists) ||
      !back(&tide_store.owners[at], n * sizeof *tide_store.owners) ||
      !back(&tide_store.pasts[at], n * sizeof *tide_store.pasts))
    return false;
  slot->cell_next = at;
  slot->cell_end = at + n;
  return true;
}
