// SPDX-License-Identifier: Apache-2.0
//
// Allocations before main: from a constructor and from the loader's preinit array.
//
// truth: site ^early: allocations=30, bytes=30*90, frees=0
// truth: site ^earliest: allocations=5, bytes=5*90
// truth: total: allocations=35
#include "site.h"

static void *kept[64];

SITE static void early(int i)
{
  kept[i] = malloc(90);
}

SITE static void earliest(int i)
{
  kept[i] = malloc(90);
}

static void first_of_all(void)
{
  for (int i = 30; i < 35; i++)
    earliest(i);
}
__attribute__((section(".preinit_array"), used)) static void (*const pre)(void) = first_of_all;

__attribute__((constructor(101))) static void constructor(void)
{
  for (int i = 0; i < 30; i++)
    early(i);
}

int main(void)
{
  return kept[29] && kept[34] ? 0 : 1;
}
