// SPDX-License-Identifier: Apache-2.0
//
// Recursion 100 deep, entered by two paths: two stacks, each with all its frames and its root.
//
// truth: site ^grab: allocations=20, bytes=20*32, stacks=2
// truth: site ^grab from path_one: allocations=10, stacks=1, frames(descend)=100, frames(main)=1
// truth: site ^grab from path_two: allocations=10, stacks=1, frames(descend)=100, frames(main)=1
// truth: site grab from path_one from path_two: stacks=0
#include "site.h"

SITE static void grab(void)
{
  MUST(malloc(32));
}

SITE static void descend(int depth)
{
  if (depth > 1)
    descend(depth - 1);
  else
    grab();
}

SITE static void path_one(void)
{
  descend(100);
}

SITE static void path_two(void)
{
  descend(100);
}

int main(void)
{
  for (int i = 0; i < 10; i++) {
    path_one();
    path_two();
  }
  return 0;
}
