// SPDX-License-Identifier: Apache-2.0
//
// One thread allocates, another frees: charged to the stack that allocated, marked as foreign.
//
// agent: yes
// build: -pthread
// truth: site ^produce: allocations=20000, bytes=2000000, frees=15000, foreign_frees=15000
// truth: site ^produce: live_blocks=5000, live_bytes=500000, temporary=0, stacks=1
// truth: site ^produce: peak_bytes>=2000000*999/1000-16384, peak_bytes<=2000000
#include "site.h"
#include <pthread.h>

static void *block[20000];
static pthread_barrier_t both;

SITE static void *produce(void)
{
  return malloc(100);
}

static void *producer(void *unused)
{
  for (int i = 0; i < 20000; i++)
    block[i] = produce();
  pthread_barrier_wait(&both);
  return unused;
}

static void *consumer(void *unused)
{
  pthread_barrier_wait(&both);
  for (int i = 0; i < 15000; i++)
    free(block[i]);
  return unused;
}

int main(void)
{
  pthread_t a, b;
  pthread_barrier_init(&both, NULL, 2);
  pthread_create(&a, NULL, producer, NULL);
  pthread_create(&b, NULL, consumer, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
