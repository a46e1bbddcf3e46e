// SPDX-License-Identifier: Apache-2.0
//
// Threads that end with blocks live, some of which main frees later: nothing is lost with them.
//
// agent: yes
// build: -pthread
// truth: site ^hold: allocations=800, bytes=800*100, frees=400, foreign_frees=400, live_blocks=400
// truth: site ^hold: own_max_bytes>=80000, stacks=1
#include "site.h"
#include <pthread.h>

static void *kept[800];

SITE static void *hold(void)
{
  return malloc(100);
}

static void *work(void *first)
{
  for (void **at = first; at < (void **)first + 100; at++)
    *at = hold();
  return NULL;
}

int main(void)
{
  for (int i = 0; i < 8; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, kept + 100 * i);
    pthread_join(thread, NULL);
  }
  for (int i = 0; i < 800; i += 2)
    free(kept[i]);
  return 0;
}
