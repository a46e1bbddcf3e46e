// SPDX-License-Identifier: Apache-2.0
//
// Code without unwind tables and without frame pointers: no walk can be right here, so none may
// be trusted, but every allocation is counted and nothing crashes.
//
// build: -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer
// truth: total: allocations=50, bytes=50*33, frees=25, live_blocks=25, peak_bytes=25*33+33
// truth: complete: broken_stacks>=0, guessed_stacks>=0
#include "site.h"

SITE static void *grab(void)
{
  return malloc(33);
}

int main(void)
{
  for (int i = 0; i < 50; i++) {
    void *block = grab();
    MUST(block);
    if (i % 2)
      free(block);
  }
  return 0;
}
