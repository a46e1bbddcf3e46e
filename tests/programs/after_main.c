// SPDX-License-Identifier: Apache-2.0
//
// Allocations after main has returned: atexit handlers, destructors, and frees of what main held.
//
// truth: site ^in_main: allocations=10, frees=10
// truth: site ^in_atexit: allocations=20, bytes=20*5, live_blocks=20
// truth: site ^in_destructor: allocations=30, bytes=30*7, live_blocks=30
// truth: total: allocations=60, frees=10
#include "site.h"

static void *kept[10];

SITE static void in_main(int i)
{
  kept[i] = malloc(100);
}

SITE static void in_atexit(void)
{
  MUST(malloc(5));
}

SITE static void in_destructor(void)
{
  MUST(malloc(7));
}

static void handler(void)
{
  for (int i = 0; i < 20; i++)
    in_atexit();
}

__attribute__((destructor)) static void destructor(void)
{
  for (int i = 0; i < 30; i++)
    in_destructor();
  for (int i = 0; i < 10; i++)
    free(kept[i]);
}

int main(void)
{
  atexit(handler);
  for (int i = 0; i < 10; i++)
    in_main(i);
  return 0;
}
