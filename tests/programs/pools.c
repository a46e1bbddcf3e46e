// SPDX-License-Identifier: Apache-2.0
//
// Pools of 72 threads, each with a piece of malloc's that is its own business, and blocks that
// another thread ends: exact on every processor. Ends by a signal if the recorder says otherwise.
// Where there is none to ask, nothing is said.
//
// build: -pthread
// agent: yes
// truth: site hand: allocations=72*200, bytes=72*200*40, frees=72*200, live_blocks=0
#include "../../include/tidemark/tidemark.h"
#include "site.h"
#include <pthread.h>

enum { THREADS = 72, BLOCKS = 200, BYTES = 40 };

static pthread_barrier_t gate;
static char *pieces[THREADS];

SITE static int hand(char *block)
{
  int status = tidemark_block_alloc(block, BYTES);
  __asm__ volatile("" ::: "memory");
  return status;
}

static void is(int64_t number, int64_t truth)
{
  if (number != truth)
    abort();
}

static void *work(void *arg)
{
  long me = (long)arg;
  char *other;
  struct tidemark_region region;
  struct tidemark_stats stats;
  int asks = !tidemark_region_begin(&region, TIDEMARK_THREAD);
  tidemark_pool_begin();
  pieces[me] = malloc((size_t)BLOCKS * BYTES);
  tidemark_pool_end();
  for (int i = 0; i < BLOCKS; i++)
    is(hand(pieces[me] + (size_t)i * BYTES), asks - 1);
  pthread_barrier_wait(&gate);
  other = pieces[(me + 1) % THREADS];
  for (int i = 0; i < BLOCKS / 2; i++)
    is(tidemark_block_free(other + (size_t)i * BYTES), asks - 1);
  is(tidemark_blocks_free(other, (size_t)BLOCKS * BYTES), asks - 1);
  if (!tidemark_region_end(&region, &stats)) {
    is((int64_t)stats.allocations, BLOCKS);
    is((int64_t)stats.deallocations, BLOCKS);
    is(stats.max_bytes, BLOCKS * BYTES);
    is(stats.current_bytes, 0);
  }
  pthread_barrier_wait(&gate);
  tidemark_pool_begin();
  free(pieces[me]);
  tidemark_pool_end();
  return NULL;
}

int main(void)
{
  pthread_t threads[THREADS];
  pthread_barrier_init(&gate, NULL, THREADS);
  for (long i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
