// SPDX-License-Identifier: Apache-2.0
//
// The table of live samples and the filter before it. A sample is always found, also by a thread
// that looks without the lock while another one puts samples in and takes them out, and the table
// grows; what is no sample is not found once nobody is at work, and seldom looked for.
#include "expect.h"
#include "rt/sys.h"
#include "store/samples.h"

#include <pthread.h>
#include <string.h>

enum { N_MOST = 40000, N_OTHERS = 20000, LOOKED_FOR_MOST = 8, N_READERS = 2, N_STAY = 200 };
enum { ROUNDS = 400, N_COME = 2000 };

static uint64_t small_block(uint64_t i)
{
  return 0x5500000012a0 + i * 48;
}

static uint64_t page_block(uint64_t i)
{
  return 0x7f0000000010 + i * 4096;
}

static uint64_t large_block(uint64_t i)
{
  return 0x7e0000000000 + (i << 21);
}

static uint64_t any_block(uint64_t i)
{
  return (tide_mix64(i + 1) >> 17) & ~15ull;
}

typedef uint64_t block_at(uint64_t i);

// In an order of its own, so that neighbours are not put one after the other.
static uint64_t pick(block_at *block, uint64_t i)
{
  return block((i * 7919) % N_MOST);
}

static void put(uint64_t addr)
{
  tide_lock_take(&tide_samples.lock);
  EXPECT(tide_samples_put(&(struct tide_sample){.addr = addr, .size = addr >> 4}));
  tide_lock_drop(&tide_samples.lock);
}

static bool take(uint64_t addr)
{
  struct tide_sample sample;
  tide_lock_take(&tide_samples.lock);
  bool is_there = tide_samples_take(addr, &sample);
  tide_lock_drop(&tide_samples.lock);
  EXPECT(!is_there || (sample.addr == addr && sample.size == addr >> 4));
  return is_there;
}

static bool is_found(uint64_t addr)
{
  return tide_samples_may_hold(addr) && tide_samples_hold(addr);
}

// Beside n samples: none of the others is found, and at most an eighth of them is looked for.
static void check_others(block_at *block)
{
  uint32_t n_looked_for = 0;
  for (uint64_t i = N_MOST; i < N_MOST + N_OTHERS; i++) {
    n_looked_for += tide_samples_may_hold(block(i));
    EXPECT(!tide_samples_hold(block(i)));
  }
  EXPECT(n_looked_for <= N_OTHERS / LOOKED_FOR_MOST);
}

// All come, and go in another order.
static void come_and_go(block_at *block)
{
  for (uint64_t i = 0; i < N_MOST; i++) {
    put(pick(block, i));
    EXPECT(is_found(pick(block, i)));
    bool is_step = i == 100 || i == 500 || i == 4000;
    if (is_step && block != large_block)
      check_others(block);
  }
  for (uint64_t i = 0; i < N_MOST; i++)
    EXPECT(is_found(block(i)));
  for (uint64_t i = 0; i < N_MOST; i++) {
    EXPECT(take(block(i)));
    EXPECT(!take(block(i)) && !tide_samples_hold(block(i)));
    if (i + 1 < N_MOST)
      EXPECT(is_found(block(i + 1)));
  }
}

static bool is_over;

static void *look(void *nothing)
{
  (void)nothing;
  uint64_t n_lost = 0;
  while (!tide_load_relaxed(&is_over))
    for (uint64_t i = 0; i < N_STAY; i++)
      n_lost += !is_found(small_block(i));
  EXPECT(!n_lost);
  return NULL;
}

// What stays is found by all while neighbours come and go. First in a table that is small yet.
static void others_look(void)
{
  pthread_t readers[N_READERS];
  for (uint64_t i = 0; i < N_STAY; i++)
    put(small_block(i));
  for (int k = 0; k < N_READERS; k++)
    pthread_create(&readers[k], NULL, look, NULL);
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t n = (uint64_t)(round < ROUNDS / 2 ? 50 : N_COME);
    for (uint64_t i = 0; i < n; i++)
      put(any_block(i));
    for (uint64_t i = 0; i < n; i++)
      EXPECT(take(any_block(i)));
  }
  tide_store_relaxed(&is_over, true);
  for (int k = 0; k < N_READERS; k++)
    pthread_join(readers[k], NULL);
  for (uint64_t i = 0; i < N_STAY; i++)
    EXPECT(take(small_block(i)));
}

// A count that is full stays, and then whoever looks there looks for it in the table.
static void full_counts(void)
{
  enum { N_SAME = 300 };
  uint64_t same[N_SAME], n = 0;
  for (uint64_t addr = 16; n < N_SAME; addr += 16)
    if (tide_samples_hash(addr) == 77)
      same[n++] = addr;
  for (uint64_t i = 0; i < N_SAME; i++)
    put(same[i]);
  for (uint64_t i = 0; i < N_SAME - 1; i++)
    EXPECT(take(same[i]) && is_found(same[N_SAME - 1]));
  EXPECT(take(same[N_SAME - 1]) && tide_samples_may_hold(same[0]) && !tide_samples_hold(same[0]));
}

int main(void)
{
  EXPECT(tide_samples_may_hold(0) && tide_samples_may_hold(~0ull)); // nothing is known yet
  EXPECT(tide_samples_init(19, 1));
  EXPECT(!tide_samples_may_hold(16) && !tide_samples_hold(16) && !take(16));
  others_look();
  come_and_go(small_block);
  come_and_go(page_block);
  come_and_go(large_block);
  come_and_go(any_block);
  full_counts();
  return n_bad != 0;
}
