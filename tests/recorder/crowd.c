// SPDX-License-Identifier: Apache-2.0
//
// Many writers, one after another in an order made from a seed: alone, in turns, a few or all at
// once; they come, sleep and end, their slots are handed on, and some are in the middle of an event
// while the others go on. As there is one order of events, the truth is known at each of them.
//
// After every event the total is not above what the store admits that it may have been. In the end
// the peak is within the bound that is told, and the bound is as small as is promised; where
// threads only took turns the peak is exact, its share of every writer too.
//
//   crowd SEEDS
#include "cell_ends.h"
#include "rt/sys.h"
#include "store/pairs.h"
#include "test_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WRITERS = 200, BLOCKS = 64, EVENTS = 30000 };

static struct thread {
  struct tide_writer w;
  uint32_t idle, owes, turn_seen;
  bool awake, inside; // inside: it has looked up, and books its event later
  uint64_t size[BLOCKS];
} threads[WRITERS];
static int n_threads, n_bad, n_exact, n_alone, n_promised;
static int64_t total, peak, of_thread[WRITERS], at_peak[WRITERS];
static unsigned rng, seed;
static uint64_t now;

static unsigned below(unsigned n)
{
  return (unsigned)rand_r(&rng) % n;
}

static void expect(bool good, const char *what, int64_t got, int64_t want)
{
  if (!good && n_bad++ < 10)
    printf("seed %u, event %llu: %s is %lld, should be %lld\n", seed, (unsigned long long)now, what,
           (long long)got, (long long)want);
}

static void truth(int t, int64_t change)
{
  total += change;
  of_thread[t] += change;
  if (total > peak) {
    peak = total;
    memcpy(at_peak, of_thread, sizeof at_peak);
  }
}

static uint64_t address_of(int t, int b)
{
  return 0x10000000ull + ((uint64_t)t * BLOCKS + (uint64_t)b) * 64;
}

static struct tide_cell *cell_of(struct tide_writer *w)
{
  uint64_t hash = tide_mix64(w->slot_id);
  struct tide_cell *c = tide_writer_find(w, hash);
  return c ? c : tide_writer_cell_new(w, hash, w->slot_id + TIDE_NODE_FIRST);
}

// A hook's beginning and end.
static void enter(struct thread *t)
{
  t->idle = 0;
  tide_pairs_look(&t->w);
}

static void leave(struct thread *t)
{
  if (t->owes) {
    t->owes = 0;
    tide_pairs_look(&t->w);
  }
  t->idle = 1;
}

static void book(int i, uint64_t largest)
{
  struct thread *t = &threads[i];
  int b = (int)below(BLOCKS);
  uint64_t address = address_of(i, b);
  now++;
  if (t->size[b]) {
    truth(i, -(int64_t)t->size[b]);
    t->size[b] = 0;
    if (!tide_pairs_free_waiting(&t->w, address))
      tide_pairs_free_booked(&t->w, address, now);
  } else {
    t->size[b] = 1 + below((unsigned)largest);
    truth(i, (int64_t)t->size[b]);
    tide_pairs_alloc(&t->w, cell_of(&t->w), address, t->size[b], now);
  }
}

static void check_ceiling(void)
{
  const struct tide_store_header *h = tide_store.header;
  int64_t admitted = h->ceiling > h->max_bytes ? h->ceiling : h->max_bytes;
  for (int i = 0; i < n_threads; i++)
    if (threads[i].inside) // its mode is a thing of the past, and so may be its event
      return;
  if (tide_crowd.lone)
    n_alone++;
  else
    expect(total <= admitted, "the total", total, admitted);
}

static void event(int i, uint64_t largest)
{
  struct thread *t = &threads[i];
  if (!t->inside)
    enter(t);
  t->inside = false;
  book(i, largest);
  leave(t);
  check_ceiling();
}

static void wake(int i)
{
  threads[i].awake = true;
  threads[i].idle = 0;
  tide_total_join(&threads[i].w, (uint32_t)i + 1, now);
}

// Sometimes all that it held is given back before it ends.
static void end(int i)
{
  struct thread *t = &threads[i];
  for (int b = 0; b < BLOCKS && seed % 2; b++)
    if (t->size[b]) {
      enter(t);
      truth(i, -(int64_t)t->size[b]);
      t->size[b] = 0;
      tide_pairs_free_booked(&t->w, address_of(i, b), ++now);
      leave(t);
    }
  t->idle = 0;
  tide_pairs_settle(&t->w);
  tide_total_leave(&t->w);
  t->awake = t->inside = false;
  check_ceiling();
}

// One after another, each alone but for the first, which sleeps meanwhile.
static void in_turns(uint64_t largest)
{
  wake(0);
  for (int turn = 0; turn < 60; turn++) {
    int i = 1 + (int)below((unsigned)n_threads - 1);
    for (unsigned k = 1 + below(20); k; k--)
      event(0, largest);
    wake(i);
    for (unsigned k = 1 + below(turn % 8 ? 200 : 3000); k; k--)
      event(i, largest);
    end(i);
  }
}

static void at_once(uint64_t largest)
{
  int n_awake = 0, active = n_threads, only = 0;
  while (now < EVENTS || n_awake < 2) {
    int i = below(8) ? (int)below((unsigned)active) : only;
    if (below(300) == 0) { // other ones are active from now on
      active = below(3) ? 1 + (int)below((unsigned)n_threads) : 1;
      only = (int)below((unsigned)active);
    }
    struct thread *t = &threads[i];
    if (!t->awake) {
      wake(i);
      n_awake++;
      event(i, largest);
    } else if (!t->inside && below(400) == 0) {
      end(i);
      n_awake--;
    } else if (!t->inside && below(100) == 0) {
      enter(t);
      t->inside = true;
    } else {
      for (unsigned k = below(50) ? 1 : 300; k; k--)
        event(i, largest);
    }
  }
}

static void open_store(void)
{
  test_store_open();
  for (int i = 0; i < n_threads; i++) {
    threads[i] = (struct thread){0};
    struct tide_writer *w = &threads[i].w;
    test_writer_open(w);
    w->idle = &threads[i].idle;
    w->owes = &threads[i].owes;
  }
  total = peak = 0;
  now = 0;
  memset(of_thread, 0, sizeof of_thread);
}

static void close_store(void)
{
  for (int i = 0; i < n_threads; i++)
    tide_sys_unmap(threads[i].w.index, (threads[i].w.index_mask + 1ull) * 8);
  tide_live_after_fork(false);
  munmap(tide_store.base, tide_store.header->store_bytes);
}

// As observe/store_read.c does it. Gives the sum of all shares.
static int64_t read_shares(bool is_now, int64_t *shares)
{
  const struct tide_store_header *h = tide_store.header;
  int64_t sum = 0;
  memset(shares, 0, WRITERS * sizeof *shares);
  for (uint32_t i = TIDE_FIRST_CELL; i < h->n_cells; i++) {
    const struct tide_cell *c = &tide_store.cells[i];
    if (!tide_owner_at(i)->stack || !(c->n_alloc || c->n_free))
      continue;
    bool kept = c->stamp.epoch == h->stamp.epoch && !is_now;
    int64_t share = kept ? cell_ends(c).peak_bytes : tide_cell_live(c);
    shares[tide_owner_at(i)->slot - 1] += share;
    sum += share;
  }
  return sum;
}

static void compare(bool turns, uint64_t largest)
{
  const struct tide_store_header *h = tide_store.header;
  int64_t shares[WRITERS], live = 0;
  for (int i = 0; i < n_threads; i++)
    tide_pairs_settle(&threads[i].w);
  for (uint32_t i = 1; i < h->n_slots; i++)
    live += tide_slot_at(i)->held;
  expect(live == total, "live in all", live, total);
  int64_t sum = read_shares(false, shares);
  if (live > h->max_bytes || live > sum)
    sum = read_shares(true, shares);
  int64_t bound = h->ceiling > sum ? h->ceiling - sum : 0;
  expect(sum <= peak, "the sum of shares", sum, peak);
  expect(peak <= sum + bound, "the peak", peak, sum + bound);
  if (turns) {
    expect(sum == peak && !bound, "the peak of turns", sum, peak);
    for (int i = 0; i < n_threads; i++)
      expect(shares[i] == at_peak[i], "a share", shares[i], at_peak[i]);
  }
  n_exact += !bound;
  // An event under way is in nobody's bound.
  bool many = n_threads >= 64;
  int64_t slack = (int64_t)largest + (many ? 0 : n_threads * 4096);
  n_promised += many && bound < peak / 20;
  expect(bound < peak / 20 + slack, "the bound", bound, peak / 20 + slack);
}

int main(int argc, char **argv)
{
  unsigned seeds = argc > 1 ? (unsigned)atoi(argv[1]) : 60;
  test_live_init();
  tide_total_init();
  static const int widths[] = {2, 3, 8, 16, 17, 64, WRITERS};
  for (seed = 1; seed <= seeds; seed++) {
    rng = seed;
    bool turns = seed % 3 == 0;
    uint64_t largest = 16ull << below(14);
    n_threads = widths[below(sizeof widths / sizeof *widths)];
    open_store();
    if (turns)
      in_turns(largest);
    else
      at_once(largest);
    compare(turns, largest);
    close_store();
  }
  printf("%u orders: %d exact, %d events alone, %d wrong\n", seeds, n_exact, n_alone, n_bad);
  return n_bad || n_alone < 1000 || n_exact < (int)seeds / 3 || !n_promised;
}
