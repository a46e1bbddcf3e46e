// SPDX-License-Identifier: Apache-2.0
//
// A program whose segments lie apart, as those for large pages do: its unwind tables are in another
// segment than its code, and the loader knows the two as if they were two objects.
//
// build: -fomit-frame-pointer -Wl,-z,separate-code,-z,max-page-size=0x200000
// truth: site ^grab: allocations=200, stacks=2
// truth: site ^grab from deep from one: allocations=100, stacks=1, frames(deep)=7
// truth: site ^grab from deep from other: allocations=100, stacks=1, frames(deep)=3
#include "site.h"

SITE static void grab(void)
{
  MUST(malloc(40));
}

SITE static void deep(int depth)
{
  if (depth > 1)
    deep(depth - 1);
  else
    grab();
}

SITE static void one(void)
{
  deep(7);
}

SITE static void other(void)
{
  deep(3);
}

int main(void)
{
  for (int i = 0; i < 100; i++) {
    one();
    other();
  }
  return 0;
}
