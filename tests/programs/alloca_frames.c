// SPDX-License-Identifier: Apache-2.0
//
// Frames of varying size by alloca, compiled without frame pointers elsewhere: the stack below
// shifts with every call, its meaning does not.
//
// build: -fomit-frame-pointer
// truth: site ^grab: allocations=500, bytes=500*20, stacks=1
// truth: site ^grab from inner from shifted from outer from main: allocations=500, stacks=1
#include "site.h"
#include <alloca.h>

SITE static void grab(void)
{
  MUST(malloc(20));
}

SITE static void inner(void)
{
  grab();
}

SITE static void shifted(size_t room)
{
  volatile char *space = alloca(room);
  space[0] = space[room - 1] = 1;
  inner();
  space[0] = 2;
}

SITE static void outer(size_t room)
{
  shifted(room);
}

int main(void)
{
  for (size_t i = 0; i < 500; i++)
    outer(1 + i * 37 % 4000);
  return 0;
}
