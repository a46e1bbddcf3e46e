// SPDX-License-Identifier: Apache-2.0
//
// longjmp out of frames that hold live blocks, then on with other frames at the same addresses:
// the stack seen next is the real one, not a memory of the frames jumped over.
//
// truth: site ^grab: allocations=400, stacks=2
// truth: site ^grab from deep from start_one: allocations=200, stacks=1, frames(deep)=10
// truth: site ^grab from flat from start_two: allocations=200, stacks=1, frames(deep)=0
#include "site.h"
#include <setjmp.h>

static jmp_buf back;

SITE static void grab(void)
{
  MUST(malloc(16));
}

SITE static void deep(int depth)
{
  if (depth > 1)
    deep(depth - 1);
  else {
    grab();
    longjmp(back, 1);
  }
}

SITE static void flat(void)
{
  volatile char room[200];
  room[0] = 1;
  grab();
}

SITE static void start_one(void)
{
  deep(10);
}

SITE static void start_two(void)
{
  flat();
}

int main(void)
{
  for (volatile int i = 0; i < 200; i++) {
    if (setjmp(back) == 0)
      start_one();
    start_two();
  }
  return 0;
}
