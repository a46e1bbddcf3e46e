// SPDX-License-Identifier: Apache-2.0
//
// Eight threads run through the same 2,048 call paths at the same time, so that every stack is
// new to all of them at once: it is still one stack.
//
// build: -pthread
// truth: site ^grab: allocations=8*2048, stacks=2048, frees=0, live_bytes=8*2048*8
#include "site.h"
#include <pthread.h>

static pthread_barrier_t all;

SITE static void grab(void)
{
  MUST(malloc(8));
}

SITE static void step(unsigned path, int depth)
{
  if (!depth)
    grab();
  else if (path & 1)
    step(path >> 1, depth - 1);
  else {
    step(path >> 1, depth - 1);
    __asm__ volatile("" ::: "memory");
  }
}

static void *work(void *unused)
{
  pthread_barrier_wait(&all);
  for (unsigned path = 0; path < 2048; path++)
    step(path, 11);
  return unused;
}

int main(void)
{
  pthread_t thread[8];
  pthread_barrier_init(&all, NULL, 8);
  for (int i = 0; i < 8; i++)
    pthread_create(&thread[i], NULL, work, NULL);
  for (int i = 0; i < 8; i++)
    pthread_join(thread[i], NULL);
  return 0;
}
