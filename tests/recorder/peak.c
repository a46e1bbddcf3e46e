// SPDX-License-Identifier: Apache-2.0
//
// Is the O(1) peak scheme right? Drives the store's bookkeeping with random traces and compares
// every stack's share of the peak with a brute-force replay that copies all live sizes at each new
// maximum. One thread: equal to the byte. More, freeing each other's blocks: the peak within the
// bound that the store states, that bound within what is promised, and the shares equal to the byte
// to what was live at the moment the store took for the peak.
//
//   peak THREADS SEEDS
#include "cell_ends.h"
#include "rt/sys.h"
#include "block_at.h"
#include "store/pairs.h"
#include "test_store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SITES = 40, BLOCKS = 4000, MAX_THREADS = 8 };

static struct tide_writer writers[MAX_THREADS];
static struct {
  int site;
  uint64_t size;
} blocks[BLOCKS];

static int64_t live[SITES], at_peak[SITES], at_epoch[SITES], own_max[SITES], total, peak;
static int64_t waiting_at_epoch[SITES]; // of at_epoch, not booked by then
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int n_threads, n_bad;
static uint64_t n_events, n_waited; // n_waited: ends of blocks that were not booked yet

static uint64_t site_hash(int site)
{
  return tide_mix64((uint64_t)site + 1);
}

static struct tide_cell *cell_of(struct tide_writer *w, int site)
{
  struct tide_cell *c = tide_writer_find(w, site_hash(site));
  return c ? c : tide_writer_cell_new(w, site_hash(site), (uint32_t)site + TIDE_NODE_FIRST);
}

static void truth(int site, int64_t change)
{
  live[site] += change;
  total += change;
  if (live[site] > own_max[site])
    own_max[site] = live[site];
  if (total > peak) {
    peak = total;
    memcpy(at_peak, live, sizeof live);
  }
}

static uint64_t address_of(int b)
{
  return 0x10000000ull + (uint64_t)b * 64;
}

// Half of the time at the last block's place and site: temporaries, one after the other.
static void event(struct tide_writer *w, unsigned *rng, int grow, uint64_t largest)
{
  static __thread int last_block, last_site;
  bool again = rand_r(rng) % 2;
  int b = again ? last_block : rand_r(rng) % BLOCKS;
  uint64_t now = ++n_events / 8;
  tide_pairs_look(w);
  if (n_events % 8 == 0)
    tide_pairs_retime(w, now);
  last_block = b;
  if (block_at(w, address_of(b)).cell) {
    if (grow && !again && rand_r(rng) % 4)
      return;
    truth(blocks[b].site, -(int64_t)blocks[b].size);
    if (tide_pairs_free_waiting(w, address_of(b)))
      n_waited++;
    else
      tide_pairs_free_booked(w, address_of(b), now);
    return;
  }
  blocks[b].site = last_site = again ? last_site : rand_r(rng) % SITES;
  blocks[b].size = 1 + (uint64_t)rand_r(rng) % largest;
  truth(blocks[b].site, (int64_t)blocks[b].size);
  tide_pairs_alloc(w, cell_of(w, blocks[b].site), address_of(b), blocks[b].size, now);
}

static int site_of(uint32_t cell)
{
  return (int)tide_owner_at(cell)->stack - TIDE_NODE_FIRST;
}

// What each thread has not booked.
static void add_waiting(int64_t *bytes)
{
  for (int i = 0; i < n_threads; i++) {
    const struct tide_pairs *pairs = &writers[i].slot->pairs;
    if (pairs->cell && pairs->open)
      bytes[site_of(pairs->cell)] += (int64_t)pairs->open - 1;
  }
}

static void *worker(void *arg)
{
  struct tide_writer *w = arg;
  unsigned rng = w->slot_id * 7919 + (unsigned)n_events;
  for (int i = 0; i < 30000; i++) {
    int64_t before[SITES], waiting[SITES] = {0};
    pthread_mutex_lock(&order); // the truth needs one order of events
    memcpy(before, live, sizeof live);
    add_waiting(waiting);
    uint32_t epoch = tide_store.header->stamp.epoch;
    event(w, &rng, i / 5000 % 2 == 0, 8192);
    if (tide_store.header->stamp.epoch != epoch) {
      memcpy(at_epoch, before, sizeof live);
      memcpy(waiting_at_epoch, waiting, sizeof live);
    }
    pthread_mutex_unlock(&order);
  }
  return NULL;
}

static void one_thread(unsigned seed)
{
  unsigned rng = seed;
  int steps = 1 + rand_r(&rng) % 40000, phase = 0;
  uint64_t largest = 1ull << (rand_r(&rng) % 24);
  for (int i = 0; i < steps; i++) {
    if (rand_r(&rng) % 3000 == 0)
      phase = !phase;
    event(&writers[0], &rng, phase, largest);
  }
}

static void several_threads(void)
{
  pthread_t threads[MAX_THREADS];
  for (int i = 0; i < n_threads; i++)
    pthread_create(&threads[i], NULL, worker, &writers[i]);
  for (int i = 0; i < n_threads; i++)
    pthread_join(threads[i], NULL);
}

static void open_store(void)
{
  test_store_open();
  for (int i = 0; i < n_threads; i++) {
    writers[i] = (struct tide_writer){0};
    test_writer_open(&writers[i]);
    tide_total_join(&writers[i], (uint32_t)i + 1, 0);
  }
}

static void close_store(void)
{
  tide_live_after_fork(false);
  munmap(tide_store.base, tide_store.header->store_bytes);
  memset(live, 0, sizeof live);
  memset(own_max, 0, sizeof own_max);
  memset(at_peak, 0, sizeof at_peak);
  total = peak = 0;
}

static void expect(int good, unsigned seed, const char *what, int64_t got, int64_t want)
{
  if (!good && n_bad++ < 10)
    printf("seed %u: %s is %lld, should be %lld\n", seed, what, (long long)got, (long long)want);
}

// The reader's half: layout.h, invariants 2 and 3.
static void compare(unsigned seed)
{
  const struct tide_store_header *h = tide_store.header;
  for (int i = 0; i < n_threads; i++)
    tide_pairs_settle(&writers[i]);
  int64_t now = 0, share[SITES] = {0}, lives[SITES] = {0}, high[SITES] = {0}, sum = 0;
  for (uint32_t i = 1; i < h->n_slots; i++)
    now += tide_slot_at(i)->held;
  int peak_is_now = now > h->max_bytes;
  for (uint32_t i = TIDE_FIRST_CELL; i < h->n_cells; i++) {
    const struct tide_cell *c = &tide_store.cells[i];
    if (!tide_owner_at(i)->stack)
      continue;
    int site = site_of(i);
    bool kept = c->stamp.epoch == h->stamp.epoch && !peak_is_now;
    struct tide_ends ends = cell_ends(c);
    int64_t x = kept ? ends.peak_bytes : tide_cell_live(c);
    share[site] += x;
    sum += x;
    lives[site] += tide_cell_live(c);
    high[site] += ends.high_bytes > tide_cell_live(c) ? ends.high_bytes : tide_cell_live(c);
  }
  int64_t bound = h->ceiling > sum ? h->ceiling - sum : 0;
  int64_t promise = peak / 800 > n_threads * 10240 ? peak / 800 : n_threads * 10240;
  expect(now == total, seed, "live in all", now, total);
  expect(n_threads > 1 || h->max_bytes == peak || peak_is_now, seed, "max_bytes", h->max_bytes,
         peak);
  expect(sum <= peak && peak <= sum + bound, seed, "the sum of shares", sum, peak);
  expect(bound <= promise, seed, "the bound", bound, promise);
  for (int s = 0; s < SITES; s++) {
    expect(lives[s] == live[s], seed, "live of a site", lives[s], live[s]);
    const int64_t *moment = n_threads == 1 ? at_peak : peak_is_now ? live : at_epoch;
    // A block that waited at that moment and ended before anything else was never booked there.
    int64_t slack = moment == at_epoch ? waiting_at_epoch[s] : 0;
    expect(share[s] <= moment[s] && share[s] >= moment[s] - slack, seed, "a share", share[s],
           moment[s]);
    if (n_threads == 1)
      expect(high[s] == own_max[s], seed, "a site's own maximum", high[s], own_max[s]);
    else
      expect(high[s] >= own_max[s], seed, "a site's own maximum", high[s], own_max[s]);
  }
}

int main(int argc, char **argv)
{
  n_threads = argc > 1 ? atoi(argv[1]) : 1;
  int seeds = argc > 2 ? atoi(argv[2]) : 50;
  if (n_threads < 1 || n_threads > MAX_THREADS)
    return 2;
  test_live_init();
  for (int seed = 1; seed <= seeds; seed++) {
    open_store();
    if (n_threads == 1)
      one_thread((unsigned)seed);
    else
      several_threads();
    compare((unsigned)seed);
    close_store();
  }
  printf("%d threads, %d traces, %llu events, %llu waited: %d wrong\n", n_threads, seeds,
         (unsigned long long)n_events, (unsigned long long)n_waited, n_bad);
  return n_bad != 0 || n_waited < 1000;
}
