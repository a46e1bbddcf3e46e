// SPDX-License-Identifier: Apache-2.0
//
// Where the processor tags memory (aarch64), libc's allocator can be told to: its pointers then
// carry a tag in their top byte, and another one whenever an address is used again.
//
// env: GLIBC_TUNABLES=glibc.mem.tagging=3
// truth: total: allocations=200, frees=200, resizes=100, live_blocks=0
// truth: site ^grab: allocations=100, bytes=100*40, frees=100
#include "site.h"

SITE static void *grab(void)
{
  return malloc(40);
}

int main(void)
{
  void *blocks[100];
  for (int i = 0; i < 100; i++)
    blocks[i] = grab();
  for (int i = 0; i < 100; i++)
    MUST((blocks[i] = realloc(blocks[i], 400)));
  for (int i = 0; i < 100; i++)
    free(blocks[i]);
  return 0;
}
