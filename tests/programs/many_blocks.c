// SPDX-License-Identifier: Apache-2.0
//
// A million live blocks, freed in another order than they were made, a tenth of them left.
//
// truth: site ^grab: allocations=1000000, bytes=16000000, frees=900000, live_blocks=100000
// truth: total: peak_bytes=16000000, peak_blocks=1000000, live_bytes=1600000
#include "site.h"

enum { N = 1000000 };
static void *block[N];

SITE static void *grab(void)
{
  return malloc(16);
}

int main(void)
{
  for (int i = 0; i < N; i++)
    block[i] = grab();
  for (long i = 0, at = 0; i < N; i++, at = (at + 387420489) % N)
    if (at % 10)
      free(block[at]);
  return 0;
}
