// SPDX-License-Identifier: Apache-2.0
//
// From a captured stack to this thread's cell: the bridge between unwinding and the store. The
// thread's own index answers for stacks it has met; the shared trie is touched only for a stack
// never seen by this thread, and then from its deepest known prefix on.
#include "record/record_inside.h"

#include "record/scope.h"
#include "record/thread.h"
#include "rt/cost.h"

#define CUT_KEY 1ull // no code address: "frames were left out here"

static uint32_t depth_limit; // 0: none

static uint32_t root_node(enum tide_walk_end end)
{
  return end == TIDE_WALK_BROKEN ? TIDE_NODE_ROOT_CUT : TIDE_NODE_ROOT_NONE;
}

static uint64_t with_module(uint64_t key)
{
  uint64_t pc = key & ~(TIDE_RULE_EXACT_PC | TIDE_PC_TAG);
  uint64_t call = key & TIDE_RULE_EXACT_PC ? pc : pc - 1;
  return TIDE_FRAME_PC(pc) | (uint64_t)tide_modules_at(call) << 48 | (key & TIDE_RULE_EXACT_PC);
}

static void count_oddities(const struct tide_unwind_frame *f, uint64_t n, uint32_t root)
{
  struct tide_store_header *h = tide_store.header;
  if (root == TIDE_NODE_ROOT_CUT)
    tide_add_relaxed(&h->n_broken, 1);
  bool cut = false, guessed = false;
  for (uint64_t i = 0; i < n; i++) {
    cut |= f[i].key == CUT_KEY;
    guessed |= f[i].guessed;
  }
  if (cut)
    tide_add_relaxed(&h->n_cut, 1);
  if (guessed)
    tide_add_relaxed(&h->n_guessed, 1);
}

// Frames that stood at this thread's last capture know their nodes. Gives how many of the n that
// are, counted from the outermost to the innermost that does.
static uint64_t n_known(const struct tide_unwind_frame *f, uint64_t n)
{
  while (n > 0 && !f[n - 1].node)
    n--;
  return n;
}

static uint32_t known_node(const struct tide_unwind_frame *f, uint64_t known, uint32_t root)
{
  return known ? f[known - 1].node : root;
}

static uint64_t node_frame(const struct tide_unwind_frame *f)
{
  return f->key == CUT_KEY ? 0 : with_module(f->key);
}

static uint32_t node_flags(const struct tide_unwind_frame *f)
{
  return f->key == CUT_KEY ? TIDE_FRAME_CUT : f->guessed ? TIDE_FRAME_GUESSED : 0;
}

static uint32_t leaf_tag(const struct tide_unwind_frame *leaf)
{
  return (uint32_t)((leaf->key & TIDE_PC_FAMILY) >> TIDE_PC_TAG_SHIFT);
}

// The innermost frame of a stack is another node for each call that allocated there, and is not
// kept among those that the frames know: there it would be an outer frame of a further stack.
static uint32_t leaf_node(const struct tide_unwind_frame *leaf, uint32_t parent)
{
  uint32_t call = (uint32_t)tide_tag_call(leaf_tag(leaf)) << TIDE_FRAME_CALL_SHIFT;
  return tide_node_get(parent, node_frame(leaf), node_flags(leaf) | call);
}

// The same in a scope, all of it below the scope's node: what the frames know are their nodes
// without one.
static uint32_t find_node_scoped(const struct tide_unwind_frame *f, uint64_t n, uint32_t root)
{
  uint32_t scope = (uint32_t)((f[n - 1].key & TIDE_PC_SCOPE) >> TIDE_PC_SCOPE_SHIFT);
  uint32_t node = tide_scope_node(scope);
  if (node && root == TIDE_NODE_ROOT_CUT)
    node = tide_node_get(node, 0, TIDE_FRAME_CUT);
  for (uint64_t i = 0; i + 1 < n && node; i++)
    node = tide_node_get(node, node_frame(&f[i]), node_flags(&f[i]));
  return node ? leaf_node(&f[n - 1], node) : 0;
}

// The node of a stack: beyond those that are known, nodes are looked up, or made.
static uint32_t find_node(struct tide_unwind_frame *f, uint64_t n, uint32_t root, bool *ret_is_new)
{
  uint32_t n_before = tide_store.n_nodes;
  if (TIDE_UNLIKELY(f[n - 1].key & TIDE_PC_SCOPE)) {
    uint32_t scoped = find_node_scoped(f, n, root);
    *ret_is_new = tide_store.n_nodes != n_before;
    return scoped;
  }
  uint64_t known = n_known(f, n - 1);
  uint32_t node = known_node(f, known, root);
  bool has_room = true;
  for (; known + 1 < n && has_room; known++) {
    f[known].node = node = tide_node_get(node, node_frame(&f[known]), node_flags(&f[known]));
    has_room = node;
  }
  node = has_room ? leaf_node(&f[n - 1], node) : 0;
  *ret_is_new = tide_store.n_nodes != n_before;
  return node;
}

static uint32_t find_node_locked(struct tide_unwind_frame *f, uint64_t n, uint32_t root,
                                 bool *ret_is_new)
{
  tide_node_begin();
  uint32_t node = find_node(f, n, root, ret_is_new);
  tide_node_end();
  if (*ret_is_new)
    count_oddities(f, n, root);
  return node;
}

// The thread's cell of a stack that its index does not have.
static struct tide_cell *make_cell(struct tide_thread *t, const struct tide_unwind_frame *leaf,
                                   uint32_t node, uint64_t from)
{
  struct tide_cell *c = tide_writer_cell_new(&t->writer, leaf->hash, node);
  struct tide_owner *owner = c ? tide_owner_at((uint32_t)(c - tide_store.cells)) : NULL;
  if (owner && !owner->t_first) {
    owner->t_first = from >> TIDE_TICK_SHIFT;
    if (owner->stack != TIDE_NODE_ROOT_LOST) // that is everybody's
      owner->family = (uint8_t)tide_tag_family(leaf_tag(leaf));
  }
  tide_cold_add(from);
  tide_store_relaxed(&tide_store.header->cold_ticks, tide_cold_cycles >> TIDE_TICK_SHIFT);
  return c;
}

// New stacks come in rows, so behind one its node is looked for first: a node that is new has no
// cell. The line of the index where the cell will be put, which is in no cache, comes meanwhile.
static struct tide_cell *intern_growing(struct tide_thread *t, struct tide_unwind_frame *f,
                                        uint64_t n, uint32_t root)
{
  struct tide_unwind_frame *leaf = &f[n - 1];
  tide_writer_prefetch(&t->writer, leaf->hash);
  uint64_t from = tide_cycles();
  bool is_new;
  uint32_t node = find_node_locked(f, n, root, &is_new);
  struct tide_cell *c = is_new ? NULL : tide_writer_find(&t->writer, leaf->hash);
  t->writer.is_growing = !c;
  return c ? c : make_cell(t, leaf, node, from);
}

struct tide_cell *tide_intern(struct tide_thread *t, struct tide_unwind_frame *f, uint64_t n,
                              uint32_t root)
{
  if (t->writer.is_growing)
    return intern_growing(t, f, n, root);
  struct tide_cell *c = tide_writer_find(&t->writer, f[n - 1].hash);
  if (TIDE_LIKELY(c))
    return c;
  t->writer.is_growing = true;
  uint64_t from = tide_cycles();
  bool is_new;
  uint32_t node = find_node_locked(f, n, root, &is_new);
  return make_cell(t, &f[n - 1], node, from);
}

// A depth limit keeps both ends: where the program came from, and who asked. The frames in between
// are replaced by one mark, and the hashes of the leaf end are computed anew.
static uint64_t cut_middle(struct tide_unwind *u, const struct tide_unwind_frame *f, uint64_t n)
{
  uint64_t outer = depth_limit / 2, inner = depth_limit - outer, k = 0;
  struct tide_unwind_frame *to = u->walk;
  for (uint64_t i = 0; i < outer; i++)
    to[k++] = f[i];
  uint64_t hash = tide_mix64(to[k - 1].hash ^ CUT_KEY);
  to[k++] = (struct tide_unwind_frame){.key = CUT_KEY, .hash = hash};
  for (uint64_t i = n - inner; i < n; i++) {
    to[k] = f[i];
    to[k].node = 0;
    to[k++].hash = hash = tide_hash_frame(hash, f[i].key);
  }
  return k;
}

static void *token_of(struct tide_unwind *u, struct tide_unwind_frame *frames, uint64_t n,
                      enum tide_walk_end end)
{
  struct tide_thread *t = (struct tide_thread *)((char *)u - offsetof(struct tide_thread, unwind));
  if (TIDE_UNLIKELY(depth_limit && n > depth_limit)) {
    n = cut_middle(u, frames, n);
    frames = u->walk;
  }
  struct tide_cell *cell = tide_intern(t, frames, n, root_node(end));
  u->is_new = t->writer.is_growing;
  return cell;
}

static const struct tide_unwind_host unwind_host = {
    .object_at = tide_modules_find,
    .object_met = tide_modules_meet,
    .stack_token = token_of,
};

void tide_intern_init(uint32_t depth)
{
  depth_limit = depth;
  tide_unwind_host = &unwind_host;
}
