// SPDX-License-Identifier: Apache-2.0
//
// Nodes of the stack trie, and the hash table that finds them again. The nodes are for readers and
// lie in the store. The table is ours alone and lies in private memory: an id that is found there
// is one that was handed out.
//
// The table grows by filling a bigger one and publishing its address. Threads that search the old
// one meanwhile find what it has, so it is never unmapped.
#include "store/nodes.h"

#include "rt/lock.h"
#include "rt/sys.h"
#include "store/store.h"

enum { FIRST_LOG2 = 7, MOST_LOG2 = 31, NODES_BACKED = 256 };

// Slot 0 of a table holds the log2 of its size, so that one address describes everything.
struct node_slot {
  uint64_t hash;
  uint32_t node, log2;
};

static struct tide_lock lock;
static struct node_slot *table; // the present one
static struct node_slot *tables[MOST_LOG2 + 1];
static uint32_t n_used;

static uint64_t table_bytes(uint32_t log2)
{
  return sizeof(struct node_slot) * ((1ull << log2) + 1);
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

static bool table_grow(uint32_t log2)
{
  struct node_slot *fresh = log2 <= MOST_LOG2 ? tide_sys_map_private(table_bytes(log2)) : NULL;
  if (!fresh)
    return false;
  fresh[0].log2 = log2;
  for (uint64_t i = 1; table && i <= 1ull << table[0].log2; i++)
    if (table[i].hash)
      table_put(fresh, table[i].hash, table[i].node);
  tables[log2] = fresh;
  tide_store_release(&table, fresh); // acquired by tide_node_find
  return true;
}

bool tide_nodes_attach(void)
{
  for (uint32_t log2 = 0; log2 <= MOST_LOG2; log2++) // a parent's, of which nobody knows any more
    if (tables[log2]) {
      tide_sys_unmap(tables[log2], table_bytes(log2));
      tables[log2] = NULL;
    }
  table = NULL;
  n_used = 0;
  lock.held = 0; // its holder may have stayed in the parent
  return tide_store_back(tide_store.nodes, NODES_BACKED * sizeof *tide_store.nodes) &&
         table_grow(FIRST_LOG2);
}

uint32_t tide_node_find(uint64_t hash)
{
  const struct node_slot *t = tide_load_acquire(&table);
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
  tide_lock_take(&lock);
}

void tide_node_end(void)
{
  tide_lock_drop(&lock);
}

uint32_t tide_node_add(uint64_t hash, uint64_t frame, uint32_t parent, uint32_t flags)
{
  uint32_t id = tide_store.n_nodes, log2 = table[0].log2, slots = 1u << log2;
  struct tide_node *node = &tide_store.nodes[id];
  if (id == tide_store.areas.nodes.capacity)
    return 0;
  if (id % NODES_BACKED == 0 && !tide_store_back(node, NODES_BACKED * sizeof *node))
    return 0;
  if (n_used * 2ull >= slots && !table_grow(log2 + 1) && n_used + 1 >= slots)
    return 0;
  *node = (struct tide_node){frame, parent, flags};
  tide_store.n_nodes = id + 1;
  tide_store_release(&tide_store.header->n_nodes, id + 1); // a reader sees whole nodes
  table_put(table, hash, id);
  n_used++;
  return id;
}
