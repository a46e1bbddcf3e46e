// SPDX-License-Identifier: Apache-2.0
//
// 8 GiB that are asked for and never touched: the heap's peak says what was asked for.
//
// truth: total: allocations=2, bytes=2**33+2**20, frees=1, live_bytes=2**20
// truth: total: peak_bytes=2**33+2**20
// truth: site ^huge: allocations=1, bytes=2**33, peak_bytes=2**33, live_bytes=0
#include "site.h"

SITE static void *huge(void)
{
  volatile size_t size = 1ul << 33;
  void *block = malloc(size);
  if (!block) // a machine that does not overcommit this far: 97 means "cannot be tested here"
    _exit(97);
  return block;
}

SITE static void *small(void)
{
  return malloc(1 << 20);
}

int main(void)
{
  void *block = huge();
  MUST(small());
  free(block);
  return 0;
}
