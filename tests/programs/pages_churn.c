// SPDX-License-Identifier: Apache-2.0
//
// Maps and unmaps as fast as it can; all is given back, so nothing of it is live, and the
// address the kernel hands out again and again is counted each time.
//
// agent: yes
// truth: pages: maps=1000, mapped_bytes=1000*3*4096, unmaps=1000, live_bytes=0, peak_bytes=3*4096
// truth: page-site ^take: allocations=1000, bytes=1000*3*4096, live_bytes=0
#include "site.h"
#include <sys/mman.h>

SITE static void *take(void)
{
  return mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
  for (int i = 0; i < 1000; i++) {
    void *at = take();
    MUST(at != MAP_FAILED && munmap(at, 3 * 4096) == 0);
  }
  return 0;
}
