// SPDX-License-Identifier: Apache-2.0
//
// Every aligned allocator of libc, each with its own site; the block is where it must be and the
// bytes are those asked for.
//
// agent: yes
// truth: site ^by_memalign: allocations=10, bytes=10*100, live_blocks=10
// truth: site ^by_aligned_alloc: allocations=10, bytes=10*512, live_blocks=10
// truth: site ^by_posix_memalign: allocations=10, bytes=10*300, live_blocks=10
// truth: site ^by_valloc: allocations=10, bytes=10*70, live_blocks=10
// truth: site ^by_pvalloc: allocations=10, live_blocks=10, bytes>=700
// truth: site ^by_reallocarray: allocations=20, resizes=10, bytes=10*96+10*192, live_blocks=10
// truth: site ^by_reallocarray: live_bytes=1920
// truth: total: allocations=70, frees=10, live_blocks=60
#include "site.h"
#include <malloc.h>
#include <stdint.h>

#define ALIGNED(p, to) MUST((p) && (uintptr_t)(p) % (to) == 0)

SITE static void by_memalign(void)
{
  void *p = memalign(256, 100);
  ALIGNED(p, 256);
}

SITE static void by_aligned_alloc(void)
{
  void *p = aligned_alloc(512, 512);
  ALIGNED(p, 512);
}

SITE static void by_posix_memalign(void)
{
  void *p = NULL;
  MUST(posix_memalign(&p, 1024, 300) == 0);
  ALIGNED(p, 1024);
}

SITE static void by_valloc(void)
{
  void *p = valloc(70);
  ALIGNED(p, 4096);
}

SITE static void by_pvalloc(void)
{
  void *p = pvalloc(70);
  ALIGNED(p, 4096);
}

SITE static void by_reallocarray(void)
{
  void *p = NULL;
  for (size_t n = 12; n <= 24; n += 12)
    p = reallocarray(p, n, 8);
  ALIGNED(p, 16);
}

int main(void)
{
  for (int i = 0; i < 10; i++) {
    by_memalign();
    by_aligned_alloc();
    by_posix_memalign();
    by_valloc();
    by_pvalloc();
    by_reallocarray();
  }
  return 0;
}
