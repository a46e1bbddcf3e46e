// SPDX-License-Identifier: Apache-2.0
//
// The store under real concurrency, for ThreadSanitizer: threads intern stacks, take and hand on
// slots, allocate and free each other's blocks, while a reader adds up the counters as the
// supervisor does; now and then all but one of them sleep, and that one is alone. What they agree
// on must be exact at the end.
#include "rt/sys.h"
#include "block_at.h"
#include "store/pairs.h"
#include "test_store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { THREADS = 4, STACKS = 300, ROUNDS = 4000, RING = 256 };

static _Atomic(uint64_t) ring[RING]; // addresses on their way to whoever frees them
static atomic_ulong next_address = 0x10000000;
static atomic_ulong n_allocs, n_frees, b_allocs, b_frees;
static atomic_bool done;
static atomic_ulong n_alone; // events of one that had no company

static uint32_t stack_node(uint32_t i)
{
  tide_node_begin();
  uint32_t node = tide_node_get(TIDE_NODE_ROOT_NONE, i, 0);
  tide_node_end();
  return node;
}

static void release(struct tide_writer *w, uint64_t address, uint64_t now)
{
  struct tide_block block = block_at(w, address);
  if (!tide_pairs_free_waiting(w, address) && !tide_pairs_free_booked(w, address, now))
    abort();
  atomic_fetch_add(&n_frees, 1);
  atomic_fetch_add(&b_frees, block.size);
}

// A hook's first two steps. ThreadSanitizer knows nothing of the barrier that orders them.
static void enter(uint32_t *idle)
{
  __atomic_store_n(idle, 0, __ATOMIC_SEQ_CST);
}

static void *worker(void *arg)
{
  static struct tide_writer writers[THREADS]; // never freed
  struct tide_writer *w = &writers[(uintptr_t)arg - 1];
  unsigned rng = (unsigned)(uintptr_t)arg;
  uint32_t idle = 1, owes = 0;
  w->slot = tide_slot_at(tide_slot_new());
  w->slot_id = w->slot->id;
  w->idle = &idle;
  w->owes = &owes;
  if (!tide_writer_init(w))
    abort();
  uint32_t stack = 0;
  for (int i = 0; i < ROUNDS; i++) {
    if (i % 1000 == 0)
      tide_total_join(w, (uint32_t)(uintptr_t)arg, 0);
    enter(&idle);
    tide_pairs_look(w);
    n_alone += tide_total_was_alone(w);
    if (i % 3 == 0)
      stack = (uint32_t)rand_r(&rng) % STACKS;
    uint64_t hash = tide_mix64(stack + 1), size = 1 + (uint64_t)rand_r(&rng) % 10000;
    uint32_t node = stack_node(stack);
    struct tide_cell *c = tide_writer_find(w, hash);
    if (!c)
      c = tide_writer_cell_new(w, hash, node);
    uint64_t address = atomic_fetch_add(&next_address, 64);
    tide_pairs_alloc(w, c, address, size, (uint64_t)i);
    atomic_fetch_add(&n_allocs, 1);
    atomic_fetch_add(&b_allocs, size);
    uint64_t other = address; // a temporary, or somebody else's
    if (rand_r(&rng) % 2)
      other = atomic_exchange(&ring[(unsigned)rand_r(&rng) % RING], address);
    if (other)
      release(w, other, (uint64_t)i);
    if (__atomic_exchange_n(&owes, 0, __ATOMIC_ACQ_REL))
      tide_pairs_look(w);
    if (i % 1000 == 999) {
      tide_pairs_settle(w);
      tide_total_leave(w);
    }
    tide_store_release(&idle, 1);
    if (i % 500 == 499 && arg != (void *)1) // one of them is alone now and then
      nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
  }
  return NULL;
}

// What the supervisor does at every tick. Its reads race with the writers by design: each field is
// read by itself, and a sum may be an event behind.
__attribute__((no_sanitize("thread"))) static uint64_t add_up(uint64_t *ret_bytes,
                                                              int64_t *ret_live)
{
  const struct tide_store_header *h = tide_store.header;
  uint64_t n = 0, bytes = 0;
  int64_t live = 0;
  for (uint32_t i = TIDE_FIRST_CELL; i < tide_load_acquire(&h->n_cells); i++) {
    if (!tide_load_acquire(&tide_owner_at(i)->stack))
      continue;
    n += tide_store.cells[i].n_alloc;
    bytes += tide_store.cells[i].b_alloc;
    live += tide_cell_live(&tide_store.cells[i]);
  }
  *ret_bytes = bytes;
  *ret_live = live;
  return n;
}

static void *reader(void *arg)
{
  uint64_t last = 0, bytes;
  int64_t live;
  while (!done) {
    uint64_t n = add_up(&bytes, &live);
    if (n < last)
      abort(); // counters only rise
    last = n;
  }
  return NULL;
}

int main(void)
{
  test_live_init();
  test_store_open();
  tide_total_init();
  pthread_t threads[THREADS], watcher;
  pthread_create(&watcher, NULL, reader, NULL);
  for (uintptr_t i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, worker, (void *)(i + 1));
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  done = true;
  pthread_join(watcher, NULL);
  uint64_t sum_bytes;
  int64_t live;
  uint64_t n = add_up(&sum_bytes, &live);
  int64_t total = tide_store.header->live_bytes;
  for (uint32_t i = 1; i < tide_store.header->n_slots; i++)
    total += tide_slot_at(i)->held - tide_slot_at(i)->published;
  int64_t max = tide_store.header->max_bytes, ceiling = tide_store.header->ceiling;
  printf("%llu allocations, %lu alone, %llu bytes, %lld live, peak %lld to %lld\n",
         (unsigned long long)n, n_alone, (unsigned long long)sum_bytes, (long long)live,
         (long long)max, (long long)ceiling);
  return !(n == n_allocs && sum_bytes == b_allocs && live == (int64_t)(b_allocs - b_frees) &&
           total == live && n_alone > 100 &&
           tide_store.header->n_nodes <= TIDE_NODE_FIRST + STACKS);
}
