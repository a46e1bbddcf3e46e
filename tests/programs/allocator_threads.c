// SPDX-License-Identifier: Apache-2.0
//
// Four threads on a foreign allocator, each freeing what its neighbour allocated.
//
// build: -pthread
// allocators: preload link
// truth: site ^grab: allocations=4*10000, bytes=40000*8, frees=40000, foreign_frees=40000
// truth: site ^grab: live_blocks=0, stacks=1
#include "site.h"
#include <pthread.h>

static void *block[4][10000];
static pthread_barrier_t all;

SITE static void *grab(void)
{
  return malloc(8);
}

static void *work(void *number)
{
  long me = (long)number;
  for (int i = 0; i < 10000; i++)
    block[me][i] = grab();
  pthread_barrier_wait(&all);
  for (int i = 0; i < 10000; i++)
    free(block[(me + 1) % 4][i]);
  return NULL;
}

int main(void)
{
  pthread_t thread[4];
  pthread_barrier_init(&all, NULL, 4);
  for (long i = 0; i < 4; i++)
    pthread_create(&thread[i], NULL, work, (void *)i);
  for (int i = 0; i < 4; i++)
    pthread_join(thread[i], NULL);
  return 0;
}
