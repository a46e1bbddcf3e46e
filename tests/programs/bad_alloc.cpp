// SPDX-License-Identifier: Apache-2.0
//
// operator new that cannot be served throws std::bad_alloc through our frames, as ever. The
// exception is an allocation itself, freed when it is caught; what follows is recorded as before.
//
// allocators: preload:jemalloc preload:tcmalloc
// truth: site ask: live_blocks=0, bytes<=20*1000
// truth: site ^after: allocations=20
#include "site.h"
#include <new>

SITE static char *ask(size_t size)
{
  return static_cast<char *>(::operator new(size));
}

SITE static void after()
{
  MUST(malloc(9));
}

int main()
{
  volatile size_t huge = ~0ul / 2 - 1000;
  for (int i = 0; i < 20; i++)
    try {
      ask(huge);
      return 1;
    } catch (const std::bad_alloc &) {
      after();
    }
  return 0;
}
