// SPDX-License-Identifier: Apache-2.0
//
// A program whose exports are looked at by other tools: calls that are inlined, recursion, a peak
// long before the end, blocks that are never freed and blocks that are freed at once. It rests in
// between, so that there are moments at which it was looked at.
#include <stdlib.h>
#include <unistd.h>

#define INLINED static inline __attribute__((always_inline))
#define OUTLINED static __attribute__((noinline))

void *volatile kept[400];

INLINED void *innermost(size_t size)
{
  return malloc(size);
}

INLINED void *inlined_twice(size_t size)
{
  void *block = innermost(size);
  *(volatile char *)block = 1;
  return block;
}

OUTLINED void fill(int first, int n, size_t size)
{
  for (int i = first; i < first + n; i++)
    kept[i] = inlined_twice(size + (size_t)i);
}

OUTLINED void empty(int first, int n)
{
  for (int i = first; i < first + n; i++) {
    free(kept[i]);
    kept[i] = NULL;
  }
}

OUTLINED int recurse(int depth)
{
  if (depth == 0) {
    kept[300] = inlined_twice(12345);
    return 1;
  }
  return recurse(depth - 1) + 1;
}

OUTLINED void churn(int n)
{
  for (int i = 0; i < n; i++)
    free(inlined_twice(64));
}

int main(void)
{
  fill(0, 200, 4096);
  usleep(100000);
  empty(0, 190);
  churn(5000);
  usleep(100000);
  fill(200, 50, 100);
  return recurse(7) == 8 ? 0 : 1;
}
