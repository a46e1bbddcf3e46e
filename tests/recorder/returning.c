// SPDX-License-Identifier: Apache-2.0
//
// A program that comes back to thousands of stacks, as compilers do: they find a place in the memo,
// which grows for them, and are not walked again.
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 12, N_STACKS = 1 << DEPTH, ROUNDS = 12, N_WALKED_AT_MOST = N_STACKS / 8 };

static int step0(unsigned path, int depth);
static int step1(unsigned path, int depth);

static int leaf(void)
{
  void *p = malloc(24);
  __asm__ volatile("" : "+r"(p)::"memory");
  free(p);
  return 0;
}

static int on(unsigned path, int depth)
{
  if (!depth)
    return leaf();
  return path & 1 ? step1(path >> 1, depth - 1) : step0(path >> 1, depth - 1);
}

__attribute__((noinline)) static int step0(unsigned path, int depth)
{
  return on(path, depth) + 1;
}

__attribute__((noinline)) static int step1(unsigned path, int depth)
{
  volatile int two = 2;
  return on(path, depth) + two;
}

int main(void)
{
  long n_first = 0, n_last = 0;
  tidemark_check_asks();
  for (int round = 0; round < ROUNDS; round++) {
    for (unsigned path = 0; path < N_STACKS; path++)
      on(path, DEPTH);
    long n = tidemark_check_asks();
    n_first = round ? n_first : n;
    n_last = n;
  }
  printf("%d stacks: %ld walked in the first round, %ld in the last\n", N_STACKS, n_first, n_last);
  return n_first < N_STACKS || n_last > N_WALKED_AT_MOST;
}
