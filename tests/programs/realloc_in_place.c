// SPDX-License-Identifier: Apache-2.0
//
// A block that grows at the top of the heap without moving: each step is a free at the old
// stack and an allocation at the new one, of the new size; nothing moved, one block live.
//
// truth: total: allocations=100, frees=99, bytes=1000+16*99*100/2+99*1000
// truth: total: resizes=99, live_blocks=1
// truth: total: live_bytes=1000+16*99, peak_bytes=1000+16*99, peak_blocks=1, moved=0, moved_bytes=0
// truth: site ^start: allocations=1, frees=1, bytes=1000, resizes=0
// truth: site ^grow: allocations=99, frees=98, resizes=99, live_bytes=2584, peak_bytes=2584
#include "site.h"

SITE static char *start(void)
{
  return malloc(1000);
}

SITE static char *grow(char *block, size_t size)
{
  return realloc(block, size);
}

int main(void)
{
  char *block = start();
  for (size_t i = 1; i < 100; i++) {
    char *grown = grow(block, 1000 + 16 * i);
    MUST(grown == block);
  }
  return 0;
}
