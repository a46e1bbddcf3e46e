// SPDX-License-Identifier: Apache-2.0
//
// Memory the program takes from the kernel itself: kept apart from the heap, by stack.
// 16 pages mapped, the middle 4 given back; 4 pages grown to 12 by mremap; 8 pages by sbrk.
//
// agent: yes
// truth: total: allocations=1, bytes=10, live_bytes=10
// truth: pages: live_bytes=4096*(12+12+8), maps>=3, unmaps>=1
// truth: pages: peak_bytes>=4096*(12+12+8), peak_bytes<=4096*(16+16+8)
// truth: page-site by_mmap: live_bytes=4096*12
// truth: page-site by_sbrk: live_bytes=4096*8
// qemu: no
#include "site.h"
#include <sys/mman.h>

enum { PAGE = 4096 };

SITE static char *by_mmap(int pages)
{
  char *at =
      mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(at != MAP_FAILED);
  return at;
}

SITE static char *to_grow(void)
{
  char *at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(at != MAP_FAILED);
  return at;
}

SITE static char *by_mremap(char *at)
{
  at = mremap(at, 4 * PAGE, 12 * PAGE, MREMAP_MAYMOVE);
  MUST(at != MAP_FAILED);
  return at;
}

SITE static char *by_sbrk(void)
{
  char *at = sbrk(8 * PAGE);
  MUST(at != (char *)-1);
  return at;
}

int main(void)
{
  char *a = by_mmap(16), *b;
  MUST(munmap(a + 6 * PAGE, 4 * PAGE) == 0);
  b = to_grow();
  b[0] = 1;
  b = by_mremap(b);
  MUST(b[0] == 1);
  b[12 * PAGE - 1] = 1;
  by_sbrk()[8 * PAGE - 1] = 1;
  MUST(malloc(10));
  return 0;
}
