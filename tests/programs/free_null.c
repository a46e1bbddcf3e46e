// SPDX-License-Identifier: Apache-2.0
//
// free(NULL) is nothing at all: no event, no unknown free. realloc(NULL, n) is a malloc.
//
// truth: total: allocations=10, bytes=10*24, frees=10, resizes=0, live_blocks=0
// truth: site ^grow_nothing: allocations=10, bytes=240, resizes=0
#include "site.h"

SITE static void *grow_nothing(void)
{
  return realloc(NULL, 24);
}

int main(void)
{
  for (int i = 0; i < 1000; i++)
    free(NULL);
  for (int i = 0; i < 10; i++)
    free(grow_nothing());
  return 0;
}
