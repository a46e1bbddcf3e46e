// SPDX-License-Identifier: Apache-2.0
//
// Blocks of no bytes are blocks: counted, live until freed, 0 bytes.
//
// truth: total: allocations=300, bytes=0, frees=150, live_blocks=150, live_bytes=0, peak_bytes=0
// truth: site ^by_malloc: allocations=100, live_blocks=50
// truth: site ^by_calloc_n: allocations=100, live_blocks=50
// truth: site ^by_calloc_size: allocations=100, live_blocks=50
#include "site.h"

SITE static void *by_malloc(void)
{
  return malloc(0);
}

SITE static void *by_calloc_n(void)
{
  return calloc(0, 1000);
}

SITE static void *by_calloc_size(void)
{
  return calloc(1000, 0);
}

int main(void)
{
  for (int i = 0; i < 100; i++) {
    void *a = by_malloc(), *b = by_calloc_n(), *c = by_calloc_size();
    MUST(a && b && c && a != b && b != c);
    if (i % 2)
      free(a), free(b), free(c);
  }
  return 0;
}
