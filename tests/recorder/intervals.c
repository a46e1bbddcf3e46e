// SPDX-License-Identifier: Apache-2.0
//
// Does every event get into its interval? Threads allocate, free each other's blocks, hand on their
// slots and note by themselves in which interval each event was; meanwhile a supervisor ends
// intervals and takes what happened in them, as sampling does. In the end both must agree on every
// number: what each stack allocated and freed in each interval, and which late frees there were.
//
//   intervals THREADS
#include "block_at.h"
#include "observe/intervals.h"
#include "observe/store_view.h"
#include "rt/sys.h"

// Now and then a thread stops in the middle of an event, and is looked at.
static void pause_sometimes(void);
#define TIDE_PAUSE() pause_sometimes()
#include "store/pairs.h"
#include "test_store.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STACKS = 60, INTERVALS = 150, RING = 4096, MAX_THREADS = 8 };

struct late {
  uint64_t n, bytes;
};
struct sums {
  struct tide_tally did[STACKS][INTERVALS + 2];
  struct late late[STACKS][INTERVALS + 2][INTERVALS + 2]; // by birth and end
};

static struct sums *noted[MAX_THREADS], *taken;
static _Atomic(uint64_t) ring[RING]; // addresses on their way to whoever frees them
static atomic_ulong next_address = 0x10000000;
static atomic_bool stop;
static atomic_int n_bad;
static atomic_ulong n_waited; // ends of blocks that were not booked yet
static uint32_t nodes[STACKS];

static void pause_sometimes(void)
{
  static __thread unsigned n;
  atomic_signal_fence(memory_order_seq_cst);
  if (++n % 256 == 0)
    sched_yield();
  atomic_signal_fence(memory_order_seq_cst);
}

static void bad(const char *what, uint64_t got, uint64_t want)
{
  if (atomic_fetch_add(&n_bad, 1) < 10)
    printf("%s: %llu, should be %llu\n", what, (unsigned long long)got, (unsigned long long)want);
}

static uint64_t stack_hash(uint32_t stack)
{
  return tide_mix64(stack + 1);
}

static struct tide_cell *cell_of(struct tide_writer *w, uint32_t stack)
{
  struct tide_cell *c = tide_writer_find(w, stack_hash(stack));
  return c ? c : tide_writer_cell_new(w, stack_hash(stack), nodes[stack]);
}

static uint32_t stack_of_node(uint32_t node)
{
  for (uint32_t i = 0; i < STACKS; i++)
    if (nodes[i] == node)
      return i;
  abort();
}

static __thread uint64_t spare; // an address that this thread has just freed

// Often at the stack and with the address of the last one, so that events wait to be booked.
static uint64_t allocate(struct tide_writer *w, struct sums *note, unsigned *rng, uint64_t now)
{
  static __thread uint32_t stack;
  if (rand_r(rng) % 4 == 0)
    stack = (uint32_t)rand_r(rng) % STACKS;
  uint64_t size = 1 + (uint64_t)rand_r(rng) % 1000;
  uint64_t address = spare ? spare : atomic_fetch_add(&next_address, 64);
  spare = 0;
  if (rand_r(rng) % 16 == 0)
    tide_pairs_retime(w, now);
  if (!tide_pairs_alloc(w, cell_of(w, stack), address, size, now))
    abort();
  struct tide_block block = block_at(w, address);
  uint32_t interval = tide_when_interval(block.when);
  note->did[stack][interval].n_alloc++;
  note->did[stack][interval].b_alloc += size;
  return address;
}

static void release(struct tide_writer *w, struct sums *note, uint64_t address, uint64_t now)
{
  struct tide_block block = block_at(w, address);
  uint64_t size = block.size;
  uint32_t born = tide_when_interval(block.when);
  uint32_t stack = stack_of_node(tide_owner_at(block.cell)->stack);
  if (tide_pairs_free_waiting(w, address))
    n_waited++;
  else if (!tide_pairs_free_booked(w, address, now))
    abort();
  uint32_t interval = tide_stamp_interval(cell_of(w, stack)->stamp); // ours alone, just touched
  note->did[stack][interval].n_free++;
  note->did[stack][interval].b_free += size;
  if (born > interval)
    bad("a block born after its end", born, interval);
  if (born < interval) {
    note->late[stack][born][interval].n++;
    note->late[stack][born][interval].bytes += size;
  }
}

static void *work(void *arg)
{
  uintptr_t id = (uintptr_t)arg;
  static struct tide_writer writers[MAX_THREADS]; // never freed
  struct tide_writer *w = &writers[id];
  unsigned rng = (unsigned)id + 1;
  w->slot = tide_slot_at(tide_slot_new());
  w->slot_id = w->slot->id;
  if (!tide_writer_init(w))
    abort();
  for (uint64_t now = 1; !stop; now++) {
    if (now % 20000 == 1)
      tide_total_join(w, (uint32_t)id + 1, 0);
    tide_pairs_look(w);
    uint64_t address = allocate(w, noted[id], &rng, now);
    if (rand_r(&rng) % 4) { // mostly it dies young
      release(w, noted[id], address, now);
      spare = address;
    } else if ((address = atomic_exchange(&ring[(unsigned)rand_r(&rng) % RING], address))) {
      release(w, noted[id], address, now);
    }
    if (now % 20000 == 0) {
      tide_pairs_settle(w);
      tide_late_close(&w->lates);
      tide_total_leave(w);
    }
    if (now % 64 == 0)
      usleep(0);
  }
  return NULL;
}

static void take(void *context, uint32_t cell, uint32_t node, uint32_t interval,
                 const struct tide_tally *more)
{
  (void)cell;
  struct tide_tally *sum = &taken->did[stack_of_node(node)][interval];
  sum->n_alloc += more->n_alloc;
  sum->b_alloc += more->b_alloc;
  sum->n_free += more->n_free;
  sum->b_free += more->b_free;
}

static void refresh(struct tide_store_view *view)
{
  if (tide_store_view_refresh(view, NULL))
    abort();
  tide_store_view_nodes(view);
}

static void supervise(struct tide_store_view *view, struct tide_intervals *intervals,
                      struct tide_late_frees *lates)
{
  for (uint32_t i = 0; i < INTERVALS; i++) {
    usleep((useconds_t)(i % 7) * 300);
    refresh(view);
    uint32_t ended = tide_interval_end(view);
    if (ended != i + 1)
      bad("an interval ended", ended, i + 1);
    tide_intervals_collect(intervals, view, ended + 1, take, NULL);
    tide_late_frees_drain(lates, view, false);
  }
}

static void compare_all(const struct tide_late_frees *lates, int n_threads)
{
  uint64_t n_late = 0, n_events = 0;
  for (size_t i = 0; i < lates->n; i++) {
    const struct tide_late_free *row = &lates->rows[i];
    struct late *late = &taken->late[stack_of_node(row->stack)][row->born][row->freed];
    late->n += row->n_blocks;
    late->bytes += row->bytes;
  }
  for (uint32_t s = 0; s < STACKS; s++)
    for (uint32_t i = 0; i < INTERVALS + 2; i++) {
      struct tide_tally want = {0}, got = taken->did[s][i];
      for (int t = 0; t < n_threads; t++) {
        want.n_alloc += noted[t]->did[s][i].n_alloc;
        want.b_alloc += noted[t]->did[s][i].b_alloc;
        want.n_free += noted[t]->did[s][i].n_free;
        want.b_free += noted[t]->did[s][i].b_free;
      }
      n_events += want.n_alloc + want.n_free;
      if (memcmp(&got, &want, sizeof got) != 0)
        bad("allocations in an interval", got.n_alloc, want.n_alloc);
      for (uint32_t k = 0; k < INTERVALS + 2; k++) {
        struct late late = {0}, found = taken->late[s][i][k];
        for (int t = 0; t < n_threads; t++) {
          late.n += noted[t]->late[s][i][k].n;
          late.bytes += noted[t]->late[s][i][k].bytes;
        }
        n_late += late.n;
        if (found.n != late.n || found.bytes != late.bytes)
          bad("late frees", found.n, late.n);
      }
    }
  if (n_waited < 1000)
    bad("blocks that ended waiting", n_waited, 1000);
  if (tide_store.header->n_late_lost || n_late < 300)
    bad("late frees in all", n_late, 300);
  printf("%llu events, %llu late frees in %zu rows, %u chunks\n", (unsigned long long)n_events,
         (unsigned long long)n_late, lates->n, tide_store.header->late_end);
}

static void *zeros(size_t bytes)
{
  void *p =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    abort();
  return p;
}

static int open_store(void)
{
  test_live_init();
  int fd = test_store_open_shared(TEST_STORE_LIMIT);
  tide_node_begin();
  for (uint32_t i = 0; i < STACKS; i++)
    nodes[i] = tide_node_get(TIDE_NODE_ROOT_NONE, i + 1, 0);
  tide_node_end();
  return fd;
}

int main(int argc, char **argv)
{
  int n_threads = argc > 1 ? atoi(argv[1]) : 1;
  if (n_threads < 1 || n_threads > MAX_THREADS)
    return 2;
  struct tide_store_view view;
  struct tide_intervals intervals = {0};
  struct tide_late_frees lates = {0};
  if (tide_store_view_open(&view, open_store(), NULL))
    return 2;
  taken = zeros(sizeof *taken);
  pthread_t threads[MAX_THREADS];
  for (int i = 0; i < n_threads; i++)
    noted[i] = zeros(sizeof *noted[i]);
  for (int i = 0; i < n_threads; i++)
    pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
  supervise(&view, &intervals, &lates);
  stop = true;
  for (int i = 0; i < n_threads; i++)
    pthread_join(threads[i], NULL);
  refresh(&view);
  tide_intervals_collect(&intervals, &view, UINT32_MAX, take, NULL);
  tide_late_frees_drain(&lates, &view, true);
  compare_all(&lates, n_threads);
  tide_intervals_done(&intervals);
  tide_late_frees_done(&lates);
  tide_store_view_close(&view);
  return n_bad != 0;
}
