// SPDX-License-Identifier: Apache-2.0
//
// The trie of stacks and a thread's index of its cells, while both grow: threads make the same
// stacks in different orders, fetching ahead of themselves as the recorder does, and must come to
// the same nodes. Shapes that the table is made for and shapes that it is not: one frame more than
// another stack, chains of new frames, one parent with all the children, low bits that are alike,
// and frames that are the ends of stacks of several calls.
#include "expect.h"
#include "test_store.h"

#include <pthread.h>

enum { N_THREADS = 4, N_STACKS = 12000, N_SHAPES = 5, CHAIN = 4 };

static uint32_t found[N_THREADS][N_STACKS];

struct frame {
  uint32_t above; // stacks: the one whose node is the parent; N_STACKS: a root
  uint64_t pc;
  uint32_t flags;
};

// Stack i of a shape, in terms of one before it.
static struct frame frame_of(int shape, uint32_t i)
{
  switch (shape) {
  case 0: return (struct frame){i ? (i - 1) / 16 : N_STACKS, 0x110000000 + i % 16, 0};
  case 1: return (struct frame){i % CHAIN ? i - 1 : N_STACKS, 0x120000000 + (i % CHAIN ? 0 : i), 0};
  case 2: return (struct frame){i ? 0 : N_STACKS, 0x130000000 + (uint64_t)i, 0};
  case 3: return (struct frame){i ? i / 2 : N_STACKS, (uint64_t)i << 36 | 0x140000000, 0};
  default:
    return (struct frame){N_STACKS, 0x150000000 + i / TIDE_CALLS_N,
                          i % TIDE_CALLS_N << TIDE_FRAME_CALL_SHIFT};
  }
}

static uint32_t node_of(const uint32_t *nodes, int shape, uint32_t i)
{
  struct frame f = frame_of(shape, i);
  uint32_t parent = f.above == N_STACKS ? TIDE_NODE_ROOT_NONE : nodes[f.above];
  tide_node_begin();
  uint32_t node = tide_node_get(parent, f.pc, f.flags);
  tide_node_end();
  return node;
}

struct worker {
  pthread_t thread;
  int id, shape;
  struct tide_writer writer;
};

static uint64_t hash_of(uint32_t node)
{
  return tide_mix64(node) ^ tide_mix64(node) >> 29;
}

static void *work(void *arg)
{
  struct worker *worker = arg;
  uint32_t *nodes = found[worker->id];
  struct tide_writer *w = &worker->writer;
  for (uint32_t i = 0; i < N_STACKS; i++) {
    nodes[i] = node_of(nodes, worker->shape, i);
    uint64_t hash = hash_of(nodes[i]);
    tide_writer_prefetch(w, hash);
    if (!tide_writer_find(w, hash))
      tide_writer_cell_new(w, hash, nodes[i]);
  }
  return NULL;
}

static void check_all(struct worker *workers, int shape)
{
  for (uint32_t i = 0; i < N_STACKS; i++) {
    struct frame f = frame_of(shape, i);
    uint32_t id = found[0][i];
    EXPECT(tide_node_at(id)->frame == f.pc && tide_node_at(id)->flags == f.flags);
    EXPECT(tide_node_at(id)->parent ==
           (f.above == N_STACKS ? TIDE_NODE_ROOT_NONE : found[0][f.above]));
    for (int t = 0; t < N_THREADS; t++) {
      EXPECT(found[t][i] == id);
      const struct tide_cell *c = tide_writer_find(&workers[t].writer, hash_of(id));
      EXPECT(c && tide_owner_at((uint32_t)(c - tide_store.cells))->stack == id);
    }
  }
}

int main(void)
{
  static struct worker workers[N_SHAPES][N_THREADS];
  test_store_open();
  for (int shape = 0; shape < N_SHAPES; shape++) {
    uint32_t before = tide_store.n_nodes;
    for (int t = 0; t < N_THREADS; t++) {
      struct worker *worker = &workers[shape][t];
      worker->id = t;
      worker->shape = shape;
      test_writer_open(&worker->writer);
    }
    for (int t = 0; t < N_THREADS; t++)
      pthread_create(&workers[shape][t].thread, NULL, work, &workers[shape][t]);
    for (int t = 0; t < N_THREADS; t++)
      pthread_join(workers[shape][t].thread, NULL);
    check_all(workers[shape], shape);
    EXPECT(tide_store.n_nodes - before == N_STACKS);
  }
  return n_bad != 0;
}
