// SPDX-License-Identifier: Apache-2.0
//
// N threads, each 10,000 blocks of its own of which every fourth stays: exact totals whatever the
// number of threads, one site for all of them.
//
// build: -pthread
// run[1]: 1
// run[2]: 2
// run[8]: 8
// run[64]: 64
// truth[1]: site ^hold: allocations=10000, bytes=10000*40, frees=7500, live_bytes=2500*40, stacks=1
// truth[2]: site ^hold: allocations=20000, frees=15000, live_bytes=5000*40, stacks=1
// truth[8]: site ^hold: allocations=80000, frees=60000, live_bytes=20000*40, stacks=1
// truth[64]: site ^hold: allocations=640000, frees=480000, live_bytes=160000*40, stacks=1
// truth: site ^hold: foreign_frees=0
// truth[1]: image: threads=2
// truth[64]: image: threads=65
#include "site.h"
#include <pthread.h>

SITE static void *hold(void)
{
  return malloc(40);
}

static void *work(void *unused)
{
  for (int i = 0; i < 10000; i++) {
    void *block = hold();
    if (i % 4)
      free(block);
  }
  return unused;
}

int main(int argc, char **argv)
{
  pthread_t thread[64];
  int n = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < n; i++)
    pthread_create(&thread[i], NULL, work, NULL);
  for (int i = 0; i < n; i++)
    pthread_join(thread[i], NULL);
  return 0;
}
