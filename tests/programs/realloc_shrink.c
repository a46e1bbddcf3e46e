// SPDX-License-Identifier: Apache-2.0
//
// Blocks that are made smaller: what is live goes down, the peak stays with the large size.
//
// truth: total: allocations=20, frees=10, resizes=10, live_blocks=10, live_bytes=10*100
// truth: total: peak_bytes=10*5000, peak_blocks=10
// truth: site ^large: allocations=10, frees=10, live_bytes=0, peak_bytes=50000
// truth: site ^shrink: allocations=10, bytes=1000, live_bytes=1000, peak_bytes=0
// truth: site ^shrink: resized_old_bytes=50000, resized_new_bytes=1000
#include "site.h"

SITE static void *large(void)
{
  return malloc(5000);
}

SITE static void *shrink(void *block)
{
  return realloc(block, 100);
}

int main(void)
{
  void *block[10];
  for (int i = 0; i < 10; i++)
    block[i] = large();
  for (int i = 0; i < 10; i++)
    MUST((block[i] = shrink(block[i])) != NULL);
  return 0;
}
