// SPDX-License-Identifier: Apache-2.0
//
// One block of each of many sizes; malloc_usable_size still answers for the real allocator, and
// the bytes counted are the bytes asked for, not what the allocator rounded them to.
//
// truth: total: allocations=1001, bytes=1001*1000/2, frees=0, peak_bytes=500500
// truth: site ^sized: allocations=1001, bytes=500500, stacks=1
#include "site.h"
#include <malloc.h>

SITE static char *sized(size_t n)
{
  return malloc(n);
}

int main(void)
{
  for (size_t n = 0; n <= 1000; n++) {
    char *block = sized(n);
    MUST(malloc_usable_size(block) >= n && malloc_usable_size(block) < n + 64);
    memset(block, 1, n);
  }
  return 0;
}
