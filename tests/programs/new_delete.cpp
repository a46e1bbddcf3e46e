// SPDX-License-Identifier: Apache-2.0
//
// Every operator new and delete: plain, array, nothrow, aligned, sized. One event each, whether
// the operators are libstdc++'s (which call malloc) or the allocator's own (which do not).
//
// agent: yes
// build: -std=c++17 -fsized-deallocation
// allocators: preload link
// truth: site by_new: allocations=100, bytes=100*24, frees=100
// truth: site by_new_array: allocations=100, bytes=100*120, frees=100
// truth: site by_nothrow: allocations=100, bytes=100*8, frees=100
// truth: site by_aligned: allocations=100, bytes=100*128, frees=100
// truth: site by_sized: allocations=100, bytes=100*40, frees=100
// truth: site left_behind: allocations=100, bytes=100*16, live_blocks=100
#include "site.h"
#include <new>

struct plain {
  char text[24];
};
struct alignas(128) wide {
  char text[128];
};

SITE static plain *by_new()
{
  return new plain;
}

SITE static char *by_new_array()
{
  return new char[120];
}

SITE static double *by_nothrow()
{
  return new (std::nothrow) double;
}

SITE static wide *by_aligned()
{
  return new wide;
}

SITE static void *by_sized()
{
  return ::operator new(40);
}

SITE static void *left_behind()
{
  return ::operator new(16);
}

int main()
{
  for (int i = 0; i < 100; i++) {
    delete by_new();
    delete[] by_new_array();
    delete by_nothrow();
    delete by_aligned();
    ::operator delete(by_sized(), 40);
    MUST(left_behind());
  }
  return 0;
}
