// SPDX-License-Identifier: Apache-2.0
//
// The same leaf reached by all 256 mixtures of two functions, eight calls deep, each path three
// times: 256 stacks, none confused with another.
//
// truth: site ^grab: allocations=768, stacks=256, live_bytes=768*8
// truth: site ^grab from left: stacks=255
// truth: site ^grab from right: stacks=255
#include "site.h"

SITE static void grab(void)
{
  MUST(malloc(8));
}

SITE static void left(int path, int depth);

SITE static void right(int path, int depth)
{
  volatile char room[40];
  room[0] = (char)path;
  if (!depth)
    grab();
  else if (path & 1)
    left(path >> 1, depth - 1);
  else
    right(path >> 1, depth - 1);
  room[1] = room[0];
}

SITE static void left(int path, int depth)
{
  if (!depth)
    grab();
  else if (path & 1)
    left(path >> 1, depth - 1);
  else
    right(path >> 1, depth - 1);
}

int main(void)
{
  for (int again = 0; again < 3; again++)
    for (int path = 0; path < 256; path++)
      if (path & 1)
        left(path >> 1, 7);
      else
        right(path >> 1, 7);
  return 0;
}
