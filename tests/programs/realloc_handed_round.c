// SPDX-License-Identifier: Apache-2.0
//
// Eight shared places; four threads swap blocks in and out of them, growing and freeing what
// another thread allocated. Whoever holds a block owns it, so everything is freed in the end.
//
// build: -pthread
// truth: site ^fresh: allocations=4*20000, frees=80000, live_blocks=0, live_bytes=0
// truth: site ^grown: live_blocks=0, live_bytes=0
#include "site.h"
#include <pthread.h>

static void *_Atomic place[8];

SITE static void *fresh(size_t size)
{
  return malloc(size);
}

SITE static void *grown(void *block, size_t size)
{
  return realloc(block, size);
}

static void *swap(void *seed)
{
  unsigned random = (unsigned)(unsigned long)seed;
  for (int i = 0; i < 20000; i++) {
    random = random * 1103515245 + 12345;
    void *block = fresh(16 + random / 65536 % 500);
    block = __atomic_exchange_n((void **)&place[random / 1024 % 8], block, __ATOMIC_ACQ_REL);
    if (block && random & 0x20000)
      block = grown(block, 16 + random / 4096 % 5000);
    free(block);
  }
  return NULL;
}

int main(void)
{
  pthread_t thread[4];
  for (unsigned long i = 0; i < 4; i++)
    pthread_create(&thread[i], NULL, swap, (void *)(i * 7919 + 1));
  for (int i = 0; i < 4; i++)
    pthread_join(thread[i], NULL);
  for (int i = 0; i < 8; i++)
    free(place[i]);
  return 0;
}
