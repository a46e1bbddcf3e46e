// SPDX-License-Identifier: Apache-2.0
//
// Nodes of the stack trie, and how they are found again. The nodes are for readers and lie in the
// store. Links and table are ours alone and lie in private memory: an id that is found there is one
// that was handed out.
//
// The first LISTED children of a node are a list, the latest one first; the others are in a table.
//
//   parent --child--> latest child --next--> ... --next--> first child --next--> 0
//
// New stacks come in rows, and most new nodes have a parent whose other children were made a moment
// ago: their nodes and links lie side by side and are in the caches, where a table of all nodes has
// a line for each, far from the last. So the list costs a tenth of what the table does, and the
// table, which a function with hundreds of calls needs, stays small.
//
// An entry of the table is four bytes: an id and four bits of its key's hash. Whether it is the
// node that is looked for, the node itself says; so the key is parent and frame, whole, and of a
// stack's innermost frame the call (TIDE_FRAME_CALL), which no hash is of. The table
// grows by half and is filled anew from the nodes, in their order. Everything happens under the
// lock.
#include "store/store.h"

#include "rt/sys.h"

enum {
  LISTED = 16,
  FIRST_ENTRIES = 256,
  NODES_BACKED = TIDE_NEAR_NODES,
  TAG_SHIFT = TIDE_NODE_BITS,
  AHEAD = 16,
  FIRST_LINKS_LOG2 = 9,
  CHUNKS = TIDE_NODE_BITS - FIRST_LINKS_LOG2 + 1,
};
#define ID_MASK ((1u << TAG_SHIFT) - 1)

// Of a node. 0: none.
struct link {
  uint32_t child; // the latest of those in the list
  uint32_t next;  // the child of the same parent that was made before; itself: it is in the table
};

static struct tide_lock lock;
// Links by node: the first chunk has those of the first nodes, each other one as many as all before
// it. A pointer is to where the link of node 0 would be.
static struct link *chunks[CHUNKS];
static uint32_t *table;
static uint64_t n_entries, n_tabled;

static uint32_t chunk_of(uint32_t id)
{
  return id >> FIRST_LINKS_LOG2 ? tide_bits(id) - FIRST_LINKS_LOG2 : 0;
}

static struct link *link_of(uint32_t id)
{
  return chunks[chunk_of(id)] + id;
}

// Where the links of a chunk begin, as an id, and how many they are.
static uint32_t chunk_start(uint32_t chunk)
{
  return chunk ? 1u << (FIRST_LINKS_LOG2 - 1 + chunk) : 0;
}

static uint32_t chunk_links(uint32_t chunk)
{
  return chunk ? chunk_start(chunk) : 1u << FIRST_LINKS_LOG2;
}

static bool chunk_add(uint32_t chunk)
{
  struct link *links = tide_sys_map_table(chunk_links(chunk) * sizeof *links);
  if (links)
    chunks[chunk] = links - chunk_start(chunk);
  return links;
}

static void chunks_drop(void)
{
  for (uint32_t i = 0; i < CHUNKS; i++) {
    if (chunks[i])
      tide_sys_unmap(chunks[i] + chunk_start(i), chunk_links(i) * sizeof(struct link));
    chunks[i] = NULL;
  }
}

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
  table = NULL;
  n_entries = 0;
}

// False: no memory, and the table is as it was.
static bool table_grow(uint64_t n)
{
  uint32_t *bigger = tide_sys_map_table(n * sizeof *bigger);
  if (!bigger)
    return false;
  table_drop();
  table = bigger;
  n_entries = n;
  for (uint32_t id = TIDE_NODE_FIRST; id < tide_store.n_nodes; id++) {
    uint32_t ahead = id + AHEAD;
    if (ahead < tide_store.n_nodes && link_of(ahead)->next == ahead)
      __builtin_prefetch(&table[first_place(node_hash(ahead))], 1);
    if (link_of(id)->next == id)
      table_put(node_hash(id), id);
  }
  return true;
}

bool tide_nodes_attach(void)
{
  lock.held = 0; // its holder may have stayed in the parent
  table_drop();  // a parent's
  chunks_drop();
  n_tabled = 0;
  tide_store.n_nodes = TIDE_NODE_FIRST;
  return chunk_add(0);
}

void tide_node_begin(void)
{
  tide_lock_take(&lock);
}

void tide_node_end(void)
{
  tide_lock_drop(&lock);
}

// Room for one more in the table: at most three quarters are in use, and without memory for a
// larger one all but one.
static bool room_in_table(void)
{
  uint64_t more = n_entries ? n_entries / 2 * 3 : FIRST_ENTRIES;
  return n_tabled < n_entries / 4 * 3 || table_grow(more) || n_tabled + 1 < n_entries;
}

// Room for one more node and its link.
static bool room_for_one(void)
{
  uint32_t id = tide_store.n_nodes, chunk = chunk_of(id);
  if (id == tide_store.areas.nodes.capacity)
    return false;
  if (id % NODES_BACKED == 0 && // the first are backed with the header
      !tide_store_back(tide_node_at(id), NODES_BACKED * sizeof(struct tide_node)))
    return false;
  return chunks[chunk] || chunk_add(chunk);
}

static bool is_same_node(const struct tide_node *node, uint64_t frame, uint32_t flags)
{
  return node->frame == frame && !((node->flags ^ flags) & TIDE_FRAME_CALL);
}

static uint32_t table_find(uint64_t hash, uint32_t parent, uint64_t frame, uint32_t flags)
{
  if (!n_tabled)
    return 0;
  for (uint64_t i = first_place(hash); table[i]; i = i + 1 < n_entries ? i + 1 : 0) {
    if ((table[i] ^ tag_of(hash)) & ~ID_MASK)
      continue;
    uint32_t id = table[i] & ID_MASK;
    const struct tide_node *node = tide_node_at(id);
    if (is_same_node(node, frame, flags) && node->parent == parent)
      return id;
  }
  return 0;
}

// Gives how many were looked at, too.
static uint32_t list_find(uint32_t parent, uint64_t frame, uint32_t flags, uint32_t *ret_n)
{
  uint32_t n = 0, id = link_of(parent)->child;
  for (; id && !is_same_node(tide_node_at(id), frame, flags); id = link_of(id)->next)
    n++;
  *ret_n = n;
  return id;
}

uint32_t tide_node_get(uint32_t parent, uint64_t frame, uint32_t flags)
{
  uint32_t n_listed, id = list_find(parent, frame, flags, &n_listed);
  uint64_t hash = key_hash(parent, frame);
  if (!id && n_listed == LISTED)
    id = table_find(hash, parent, frame, flags);
  if (id)
    return id;
  if (!room_for_one() || (n_listed == LISTED && !room_in_table()))
    return 0;
  id = tide_store.n_nodes;
  *tide_node_at(id) = (struct tide_node){frame, parent, flags};
  tide_store.n_nodes = id + 1;
  tide_store_release(&tide_store.header->n_nodes, id + 1); // a reader sees whole nodes
  if (n_listed < LISTED) {
    *link_of(id) = (struct link){.next = link_of(parent)->child};
    link_of(parent)->child = id;
  } else {
    *link_of(id) = (struct link){.next = id};
    table_put(hash, id);
    n_tabled++;
  }
  return id;
}
