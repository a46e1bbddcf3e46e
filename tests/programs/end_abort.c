// SPDX-License-Identifier: Apache-2.0
//
// Ends by abort().
// All 100 blocks must be in the capture all the same.
//
// status: signal 6
// truth: total: allocations=100, bytes=100*50, frees=0, live_blocks=100, peak_bytes=5000
// truth: site ^hold: allocations=100, bytes=5000, live_bytes=5000, peak_bytes=5000, stacks=1
#include "site.h"
#include <signal.h>

static void *kept[100];

SITE static void hold(int i)
{
  kept[i] = malloc(50);
}

int main(void)
{
  for (int i = 0; i < 100; i++)
    hold(i);
  say("about to end by abort\n");
  abort();
  return 0;
}
