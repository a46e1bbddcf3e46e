// SPDX-License-Identifier: Apache-2.0
//
// Temporary: freed by the thread that allocated it before it made two further allocations.
//
// truth: site ^at_once: allocations=100, temporary=100, temporary_bytes=1600
// truth: site ^one_between: allocations=50, frees=50, temporary=50, temporary_bytes=1600
// truth: site ^two_between: allocations=50, frees=50, temporary=0, temporary_bytes=0
// truth: site ^filler: allocations=150, temporary=0, live_blocks=150
// truth: total: allocations=350, temporary=150, temporary_bytes=3200, frees=200
#include "site.h"

SITE static void *at_once(void)
{
  return malloc(16);
}

SITE static void *one_between(void)
{
  return malloc(32);
}

SITE static void *two_between(void)
{
  return malloc(64);
}

SITE static void *filler(void)
{
  return malloc(128);
}

int main(void)
{
  for (int i = 0; i < 100; i++)
    free(at_once());
  for (int i = 0; i < 50; i++) {
    void *block = one_between();
    MUST(filler());
    free(block);
  }
  for (int i = 0; i < 50; i++) {
    void *block = two_between();
    MUST(filler() && filler());
    free(block);
  }
  return 0;
}
