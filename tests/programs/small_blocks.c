// SPDX-License-Identifier: Apache-2.0
//
// Blocks of 1 to 24 bytes, packed as tightly as the allocator likes (jemalloc, mimalloc and
// tcmalloc put eight-byte blocks eight bytes apart): two thirds freed, the rest known exactly.
//
// allocators: preload link
// truth: site ^grab: allocations=300000, bytes=12500*300, frees=200000, live_blocks=100000
// truth: site ^grab: live_bytes=12500*100, stacks=1
#include "site.h"

enum { N = 300000 };
static void *block[N];

SITE static void *grab(size_t size)
{
  return malloc(size);
}

int main(void)
{
  for (int i = 0; i < N; i++)
    block[i] = grab((size_t)(1 + i % 24));
  for (int i = 0; i < N; i++)
    if ((i + i / 24) % 3)
      free(block[i]);
  return 0;
}
