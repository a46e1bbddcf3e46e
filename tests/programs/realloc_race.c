// SPDX-License-Identifier: Apache-2.0
//
// Four threads grow and free blocks as fast as they can; an address one of them gives up by
// realloc is at once handed to another. All is freed, so there is nothing live, and no free of
// an unknown block.
//
// build: -pthread
// truth: site ^grow: allocations=4*3000*8, resizes=4*3000*7, frees=96000, live_blocks=0
// truth: site ^grow: live_bytes=0, foreign_frees=0
// truth: total: foreign_frees=0
#include "site.h"
#include <pthread.h>

SITE static void *grow(void *block, size_t size)
{
  return realloc(block, size);
}

static void *churn(void *unused)
{
  for (int i = 0; i < 3000; i++) {
    void *block = NULL;
    for (size_t size = 24; size <= 24 << 7; size *= 2)
      block = grow(block, size);
    free(block);
  }
  return unused;
}

int main(void)
{
  pthread_t thread[4];
  for (int i = 0; i < 4; i++)
    pthread_create(&thread[i], NULL, churn, NULL);
  for (int i = 0; i < 4; i++)
    pthread_join(thread[i], NULL);
  return 0;
}
