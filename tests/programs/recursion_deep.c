// SPDX-License-Identifier: Apache-2.0
//
// Recursion thousands deep: every frame is kept, and the way back up allocates too.
//
// run[5000]: 5000
// run[20000]: 20000
// truth[5000]: site ^grab: allocations=3, stacks=1, frames(descend)=5000, frames(main)=1
// truth[20000]: site ^grab: allocations=3, stacks=1, frames(descend)=20000, frames(main)=1
// truth: site ^on_the_way: allocations=5, frees=5, stacks=5
// truth: complete: cut_stacks=0
#include "site.h"

static int full_depth;

SITE static void grab(void)
{
  MUST(malloc(24));
}

SITE static void on_the_way(void)
{
  free(malloc(100));
}

SITE static void descend(int depth)
{
  if (depth > 1)
    descend(depth - 1);
  else
    for (volatile int i = 0; i < 3; i++) // not to be unrolled: one call site
      grab();
  if (depth % (full_depth / 5) == 0)
    on_the_way();
}

int main(int argc, char **argv)
{
  full_depth = argc > 1 ? atoi(argv[1]) : 1000;
  descend(full_depth);
  return 0;
}
