// SPDX-License-Identifier: Apache-2.0
//
// Blocks that live through a sleep, bursts of blocks right after one, and blocks that die at
// once: a sleep lasts at least as long as it says, so lifetimes have a floor that no machine
// undercuts. A thread reads the clock at every 16th event; the burst is what a stale reading
// would shorten.
//
// truth: site ^sleeper: allocations=5, frees=5, mean_life_ns>=95000000
// truth: site ^burst: allocations=20, frees=20, mean_life_ns>=95000000
// truth: site ^spark: allocations=1000, frees=1000, temporary=1000
#include "site.h"
#include <time.h>

static void *kept[20];

SITE static void *sleeper(void)
{
  return malloc(100);
}

SITE static void *burst(void)
{
  return malloc(10);
}

SITE static void *spark(void)
{
  return malloc(1);
}

static void sleep_100_ms(void)
{
  nanosleep(&(struct timespec){0, 100000000}, NULL);
}

int main(void)
{
  for (int i = 0; i < 1000; i++)
    free(spark());
  for (int i = 0; i < 5; i++) {
    void *p = sleeper();
    sleep_100_ms();
    free(p);
  }
  for (int i = 0; i < 20; i++)
    kept[i] = burst();
  sleep_100_ms();
  for (int i = 0; i < 20; i++)
    free(kept[i]);
  return 0;
}
