// SPDX-License-Identifier: Apache-2.0
//
// A program with operators new and delete of its own, which call malloc with a few bytes more:
// counted once, as what malloc was asked for.
//
// build: -Wno-sized-deallocation
// truth: site hold: allocations=50, bytes=50*(30+16), frees=25
#include "site.h"
#include <new>

void *operator new(size_t size)
{
  return malloc(size + 16);
}

void operator delete(void *block) noexcept
{
  free(block);
}

void operator delete(void *block, size_t) noexcept
{
  free(block);
}

struct thirty {
  char text[30];
};

SITE static thirty *hold()
{
  return new thirty;
}

int main()
{
  for (int i = 0; i < 50; i++) {
    thirty *block = hold();
    block->text[0] = 1;
    if (i % 2)
      delete block;
  }
  return 0;
}
