// SPDX-License-Identifier: Apache-2.0
//
// Nodes of the stack trie, and the hash table that finds them again. The nodes are for readers and
// lie in the store. The table is ours alone and lies in private memory: an id that is found there
// is one that was handed out.
//
// An entry is four bytes: an id and four bits of its key's hash. Whether it is the node that is
// looked for, the node itself says; so the key is parent and frame, whole. The table grows by half
// and is filled anew from the nodes, in their order; everything happens under the lock, so nobody
// looks at the one before.
#include "store/store.h"

#include "rt/sys.h"

enum {
  FIRST_ENTRIES = 1024,
  NODES_BACKED = TIDE_NEAR_NODES,
  TAG_SHIFT = TIDE_NODE_BITS,
  AHEAD = 16
};
#define ID_MASK ((1u << TAG_SHIFT) - 1)

static struct tide_lock lock;
// Written under the lock; relaxed, as those read it who only fetch. 0: vacant.
static uint32_t *table;
static uint64_t n_entries;

static uint64_t key_hash(uint32_t parent, uint64_t frame)
{
  return tide_mix64(tide_mix64(frame) ^ parent);
}

static uint64_t first_place(uint64_t hash)
{
  return (hash >> 32) * n_entries >> 32;
}

static uint32_t tag_of(uint64_t hash)
{
  return (uint32_t)hash << TAG_SHIFT;
}

static uint64_t node_hash(uint32_t id)
{
  return key_hash(tide_node_at(id)->parent, tide_node_at(id)->frame);
}

static void table_put(uint64_t hash, uint32_t id)
{
  uint64_t i = first_place(hash);
  while (table[i])
    i = i + 1 < n_entries ? i + 1 : 0;
  table[i] = tag_of(hash) | id;
}

static void table_drop(void)
{
  if (table)
    tide_sys_unmap(table, n_entries * sizeof *table);
  tide_store_relaxed(&table, NULL);
}

// False: no memory, and the table is as it was.
static bool table_grow(uint64_t n)
{
  uint32_t *bigger = tide_sys_map_table(n * sizeof *bigger);
  if (!bigger)
    return false;
  table_drop();
  tide_store_relaxed(&table, bigger);
  tide_store_relaxed(&n_entries, n);
  for (uint32_t id = TIDE_NODE_FIRST; id < tide_store.n_nodes; id++) {
    if (id + AHEAD < tide_store.n_nodes)
      __builtin_prefetch(&table[first_place(node_hash(id + AHEAD))], 1);
    table_put(node_hash(id), id);
  }
  return true;
}

bool tide_nodes_attach(void)
{
  lock.held = 0; // its holder may have stayed in the parent
  table_drop();  // a parent's
  tide_store.n_nodes = TIDE_NODE_FIRST;
  return table_grow(FIRST_ENTRIES);
}

void tide_node_begin(void)
{
  tide_lock_take(&lock);
}

void tide_node_end(void)
{
  tide_lock_drop(&lock);
}

// Room for one more node, and for it in the table: at most three quarters of that are in use, and
// without memory for a larger one all but one.
static bool room_for_one(void)
{
  uint32_t id = tide_store.n_nodes;
  if (id == tide_store.areas.nodes.capacity)
    return false;
  if (id % NODES_BACKED == 0 && // the first are backed with the header
      !tide_store_back(tide_node_at(id), NODES_BACKED * sizeof(struct tide_node)))
    return false;
  return id < n_entries / 4 * 3 || table_grow(n_entries / 2 * 3) || id + 1 < n_entries;
}

// Without the lock: the table may go meanwhile, and what is fetched then is of no use and no harm.
void tide_node_prefetch(uint32_t parent, uint64_t frame)
{
  const uint32_t *entries = tide_load_relaxed(&table);
  uint64_t n = tide_load_relaxed(&n_entries);
  __builtin_prefetch(&entries[(key_hash(parent, frame) >> 32) * n >> 32], 1);
}

static uint32_t node_find(uint64_t hash, uint32_t parent, uint64_t frame)
{
  for (uint64_t i = first_place(hash); table[i]; i = i + 1 < n_entries ? i + 1 : 0) {
    if ((table[i] ^ tag_of(hash)) & ~ID_MASK)
      continue;
    uint32_t id = table[i] & ID_MASK;
    const struct tide_node *node = tide_node_at(id);
    if (node->frame == frame && node->parent == parent)
      return id;
  }
  return 0;
}

uint32_t tide_node_get(uint32_t parent, uint64_t frame, uint32_t flags)
{
  uint64_t hash = key_hash(parent, frame);
  uint32_t id = tide_store.n_nodes;
  uint32_t found = parent + 1 != id ? node_find(hash, parent, frame) : 0; // a leaf, for now
  if (found)
    return found;
  if (!room_for_one())
    return 0;
  *tide_node_at(id) = (struct tide_node){frame, parent, flags};
  tide_store.n_nodes = id + 1;
  tide_store_release(&tide_store.header->n_nodes, id + 1); // a reader sees whole nodes
  table_put(hash, id);
  return id;
}
