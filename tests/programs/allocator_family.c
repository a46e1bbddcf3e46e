// SPDX-License-Identifier: Apache-2.0
//
// The whole family of C functions on whatever allocator is there, each counted once, although
// such allocators implement one by calling another.
//
// allocators: preload link
// truth: site ^by_malloc: allocations=100, bytes=100*33, frees=100
// truth: site ^by_calloc: allocations=100, bytes=100*44, frees=100
// truth: site ^by_realloc: allocations=200, bytes=100*10+100*5000, frees=200, resizes=100
// truth: site ^by_memalign: allocations=100, bytes=100*100, frees=100
// truth: site ^by_posix_memalign: allocations=100, bytes=100*300, frees=100
// truth: site ^by_aligned_alloc: allocations=100, bytes=100*128, frees=100
// truth: site by_strdup: allocations=100, bytes=100*6, frees=100
#include "site.h"
#include <malloc.h>

SITE static void *by_malloc(void)
{
  return malloc(33);
}

SITE static void *by_calloc(void)
{
  return calloc(4, 11);
}

SITE static void *by_realloc(void *old, size_t size)
{
  return realloc(old, size);
}

SITE static void *by_memalign(void)
{
  return memalign(64, 100);
}

SITE static void *by_posix_memalign(void)
{
  void *block = NULL;
  MUST(posix_memalign(&block, 256, 300) == 0);
  return block;
}

SITE static void *by_aligned_alloc(void)
{
  return aligned_alloc(64, 128);
}

SITE static char *by_strdup(void)
{
  return strdup("hello");
}

int main(void)
{
  for (int i = 0; i < 100; i++) {
    void *block[] = {by_malloc(),   by_calloc(),         by_realloc(by_realloc(0, 10), 5000),
                     by_memalign(), by_posix_memalign(), by_aligned_alloc(),
                     by_strdup()};
    for (size_t k = 0; k < sizeof block / sizeof *block; k++) {
      MUST(block[k]);
      free(block[k]);
    }
  }
  return 0;
}
