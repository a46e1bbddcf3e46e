// SPDX-License-Identifier: Apache-2.0
//
// 2,000 threads one after another, each with one block freed and one left.
//
// build: -pthread
// truth: site ^brief: allocations=2000, bytes=2000*64, frees=2000, temporary=2000
// truth: site ^left: allocations=2000, bytes=2000*16, live_blocks=2000
// truth: image: threads=2001
// qemu: no
#include "site.h"
#include <pthread.h>

SITE static void brief(void)
{
  free(malloc(64));
}

SITE static void left(void)
{
  MUST(malloc(16));
}

static void *work(void *unused)
{
  brief();
  left();
  return unused;
}

int main(void)
{
  for (int i = 0; i < 2000; i++) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, work, NULL) == 0);
    pthread_join(thread, NULL);
  }
  return 0;
}
