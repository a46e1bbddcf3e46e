// SPDX-License-Identifier: Apache-2.0
//
// realloc(p, 0) frees p and returns NULL: 100 blocks, none left.
//
// truth: total: allocations=100, bytes=100*40, frees=100, live_blocks=0, live_bytes=0
// truth: site ^hold: allocations=100, frees=100, live_blocks=0, peak_bytes=4000
#include "site.h"

SITE static void *hold(void)
{
  return malloc(40);
}

int main(void)
{
  void *block[100];
  for (int i = 0; i < 100; i++)
    block[i] = hold();
  for (int i = 0; i < 100; i++)
    MUST(realloc(block[i], 0) == NULL);
  return 0;
}
