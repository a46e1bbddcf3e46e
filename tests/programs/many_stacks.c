// SPDX-License-Identifier: Apache-2.0
//
// 8,192 distinct stacks, each met twice: tables grow while they are in use, nothing is merged.
//
// truth: site ^grab: allocations=16384, stacks=8192, live_bytes=16384*24
// truth: total: allocations=16384
#include "site.h"

SITE static void grab(void)
{
  MUST(malloc(24));
}

SITE static void step(unsigned path, int depth)
{
  if (!depth)
    grab();
  else if (path & 1)
    step(path >> 1, depth - 1);
  else {
    step(path >> 1, depth - 1);
    __asm__ volatile("" ::: "memory"); // keeps the two calls two call sites
  }
}

int main(void)
{
  for (volatile int again = 0; again < 2; again++)
    for (unsigned path = 0; path < 8192; path++)
      step(path, 13);
  return 0;
}
