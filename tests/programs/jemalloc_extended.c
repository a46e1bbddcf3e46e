// SPDX-License-Identifier: Apache-2.0
//
// jemalloc's own interface: mallocx, rallocx, sdallocx, dallocx, which no libc has.
//
// allocators: link:jemalloc
// truth: site ^by_mallocx: allocations=100, bytes=100*70, frees=100
// truth: site ^by_rallocx: allocations=50, bytes=50*9000, frees=50, resizes=50
// truth: total: live_blocks<=8
// qemu: no
#include "site.h"

void *mallocx(size_t size, int flags);
void *rallocx(void *block, size_t size, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t size, int flags);

SITE static void *by_mallocx(void)
{
  return mallocx(70, 0);
}

SITE static void *by_rallocx(void *block)
{
  return rallocx(block, 9000, 0);
}

int main(void)
{
  for (int i = 0; i < 50; i++) {
    sdallocx(by_mallocx(), 70, 0);
    dallocx(by_rallocx(by_mallocx()), 0);
  }
  return 0;
}
