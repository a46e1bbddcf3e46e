// SPDX-License-Identifier: Apache-2.0
//
// C++ exceptions through frames whose destructors free, caught far out; the exception object
// itself is an allocation of the thrower. Nothing is left but what was kept.
//
// agent: yes
// truth: site guarded: allocations=500*10, frees=5000, live_blocks=0
// truth: site thrower from guarded: allocations=500, frees=500
// truth: site ^caught: allocations=500, live_blocks=500, stacks=1
#include "site.h"

static char *kept[500];

struct guard {
  char *block;
  SITE guard() { block = static_cast<char *>(malloc(60)); }
  SITE ~guard() { free(block); }
};

SITE static void thrower(int i)
{
  throw i;
}

SITE static void guarded(int depth, int i)
{
  guard here;
  if (depth > 1)
    guarded(depth - 1, i);
  else
    thrower(i);
}

SITE static void caught(int i)
{
  kept[i] = static_cast<char *>(malloc(5));
}

int main()
{
  for (int i = 0; i < 500; i++)
    try {
      guarded(9, i);
    } catch (int number) {
      caught(number);
    }
  return 0;
}
