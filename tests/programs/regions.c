// SPDX-License-Identifier: Apache-2.0
//
// Regions of threads and of the process, which have to be exact on every processor and over every
// allocator. Ends by a signal if one is not. Where there is no recorder to ask, nothing is said.
//
// build: -pthread
// agent: yes
// allocators: preload link
// truth: site ^grab: allocations=8*1000+1, bytes=8000*24+1, frees=8000+1, live_blocks=0
// truth: site ^grow: allocations=8*10, resizes=8*10
#include "../../include/tidemark/tidemark.h"
#include "site.h"
#include <pthread.h>

enum { THREADS = 8, BLOCKS = 1000, RESIZES = 10 };

static pthread_barrier_t gate;
static void *blocks[THREADS][BLOCKS];

SITE static void *grab(size_t n)
{
  return malloc(n);
}

SITE static void *grow(void *p, size_t n)
{
  return realloc(p, n);
}

static void is(int64_t number, int64_t truth)
{
  if (number != truth)
    abort();
}

static void *work(void *arg)
{
  long me = (long)arg;
  struct tidemark_region region, inner;
  struct tidemark_stats stats;
  pthread_barrier_wait(&gate);
  int asks = !tidemark_region_begin(&region, TIDEMARK_THREAD);
  for (int i = 0; i < BLOCKS; i++)
    blocks[me][i] = grab(24);
  for (size_t n = 1; n <= RESIZES; n++)
    blocks[me][0] = grow(blocks[me][0], 24 + 100 * n);
  pthread_barrier_wait(&gate);
  pthread_barrier_wait(&gate);
  tidemark_region_begin(&inner, TIDEMARK_THREAD);
  for (int i = 0; i < BLOCKS; i++)
    free(blocks[(me + 1) % THREADS][i]);
  if (asks) {
    is(tidemark_region_end(&inner, &stats), 0);
    is((int64_t)stats.deallocations, BLOCKS);
    is(stats.current_bytes, -(BLOCKS * 24 + RESIZES * 100));
    is(stats.max_bytes, 0);
    is(tidemark_region_end(&region, &stats), 0);
    is((int64_t)stats.allocations, BLOCKS);
    is((int64_t)stats.reallocations, RESIZES);
    is(stats.bytes_reallocated, RESIZES * 100);
    is((int64_t)stats.bytes_allocated, BLOCKS * 24 + RESIZES * 100);
    is(stats.current_bytes, 0);
    is(stats.max_bytes, BLOCKS * 24 + RESIZES * 100);
    is(stats.max_blocks, BLOCKS);
  }
  pthread_barrier_wait(&gate);
  return NULL;
}

int main(void)
{
  pthread_t threads[THREADS];
  struct tidemark_region all;
  struct tidemark_stats stats;
  pthread_barrier_init(&gate, NULL, THREADS + 1);
  free(grab(1));
  for (long i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, (void *)i);
  int asks = !tidemark_region_begin(&all, TIDEMARK_PROCESS);
  pthread_barrier_wait(&gate);
  pthread_barrier_wait(&gate); // all is there
  pthread_barrier_wait(&gate);
  pthread_barrier_wait(&gate); // and gone
  if (asks) {
    is(tidemark_region_end(&all, &stats), 0);
    is((int64_t)stats.allocations, THREADS * BLOCKS);
    is((int64_t)stats.deallocations, THREADS * BLOCKS);
    is((int64_t)stats.reallocations, THREADS * RESIZES);
    is(stats.current_bytes, 0);
    is(stats.max_bytes, THREADS * (BLOCKS * 24 + RESIZES * 100));
    is(stats.max_blocks, THREADS * BLOCKS);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
