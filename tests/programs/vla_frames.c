// SPDX-License-Identifier: Apache-2.0
//
// Variable-length arrays in two nested frames, alternately by two callers.
//
// build: -fomit-frame-pointer
// truth: site ^grab: allocations=400, stacks=2
// truth: site ^grab from vary from odd: allocations=200, stacks=1
// truth: site ^grab from vary from even: allocations=200, stacks=1
#include "site.h"

SITE static void grab(void)
{
  MUST(malloc(12));
}

SITE static void vary(int n)
{
  volatile int room[n];
  room[n - 1] = n;
  grab();
  room[0] = room[n - 1];
}

SITE static void odd(int n)
{
  volatile int room[n];
  room[0] = n;
  vary(1 + n % 200);
  room[n - 1] = room[0];
}

SITE static void even(int n)
{
  vary(n);
}

int main(void)
{
  for (int i = 0; i < 400; i++)
    if (i % 2)
      odd(1 + i);
    else
      even(1 + i);
  return 0;
}
