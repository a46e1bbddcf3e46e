// SPDX-License-Identifier: Apache-2.0
//
// Code without unwind tables, with frame pointers: the recorder follows those, says that it
// guessed, and still finds the way to main and on to the root.
//
// build: -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-omit-frame-pointer
// truth: site ^grab: allocations=50, bytes=50*33, live_blocks=50
// truth: site ^grab from middle from main: allocations=50
// truth: complete: guessed_stacks>=1
#include "site.h"

SITE static void grab(void)
{
  MUST(malloc(33));
}

SITE static void middle(void)
{
  grab();
}

int main(void)
{
  for (int i = 0; i < 50; i++)
    middle();
  return 0;
}
