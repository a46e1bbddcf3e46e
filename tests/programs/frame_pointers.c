// SPDX-License-Identifier: Apache-2.0
//
// The same shapes compiled with frame pointers, as some distributions do.
//
// build: -fno-omit-frame-pointer
// truth: site ^grab: allocations=500, stacks=2
// truth: site ^grab from b from a: allocations=300, stacks=1
// truth: site ^grab from c from main: allocations=200, stacks=1
#include "site.h"

SITE static void grab(void)
{
  MUST(malloc(12));
}

SITE static void c(int i)
{
  volatile char room[1 + i % 100];
  room[0] = 1;
  grab();
}

SITE static void b(int i)
{
  volatile int kept = i;
  grab();
  kept++;
}

SITE static void a(int i)
{
  b(i % 2);
}

int main(void)
{
  for (int i = 0; i < 300; i++)
    a(i);
  for (int i = 0; i < 200; i++)
    c(i);
  for (int i = 0; i < 100; i++)
    MUST(malloc(1));
  return 0;
}
