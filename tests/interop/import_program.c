// SPDX-License-Identifier: Apache-2.0
//
// A small program for import_test.py: what it allocates is the same in every run and under every
// recorder, and it prints nothing, so that no library allocates for it. Its peak is in the middle.
#include <stdlib.h>

#define SITE __attribute__((noinline))

static void *kept[400];

SITE static void *small(void)
{
  return malloc(24);
}

SITE static void *medium(int i)
{
  return calloc(1, 1000 + (size_t)i);
}

SITE static void *large(void)
{
  return malloc(100000);
}

SITE static void *grown(void)
{
  void *p = malloc(500);
  return realloc(p, 70000);
}

SITE static void churn(void)
{
  for (int i = 0; i < 1000; i++)
    free(small());
}

SITE static void leak(void)
{
  kept[399] = malloc(4321);
}

int main(void)
{
  for (int i = 0; i < 300; i++)
    kept[i] = i % 3 ? medium(i) : small();
  void *a = large(), *b = grown();
  churn();
  free(a);
  free(b);
  leak();
  for (int i = 0; i < 290; i++)
    free(kept[i]);
  kept[0] = large();
  free(kept[0]);
  return 0;
}
