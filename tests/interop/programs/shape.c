// SPDX-License-Identifier: Apache-2.0
//
// A heap whose numbers are easy to tell apart, for recording with several tools: 50 blocks of
// 100,000 bytes of which every other is freed, 3,000 small ones that stay, and 2,000 that go at
// once.
#include <stdlib.h>

__attribute__((noinline)) void *big(void)
{
  void *block = malloc(100000);
  __asm__ volatile("" ::"r"(block) : "memory");
  return block;
}

__attribute__((noinline)) void *small(int i)
{
  void *block = malloc((size_t)(16 + i % 3));
  __asm__ volatile("" ::"r"(block) : "memory");
  return block;
}

__attribute__((noinline)) void churn(int n)
{
  for (int i = 0; i < n; i++)
    free(small(i));
}

__attribute__((noinline)) void fill(int n)
{
  for (int i = 0; i < n; i++) {
    void *block = big();
    if (i % 2)
      free(block);
  }
}

int main(void)
{
  fill(50);
  for (int i = 0; i < 3000; i++)
    small(i);
  churn(2000);
  return 0;
}
