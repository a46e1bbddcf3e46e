// SPDX-License-Identifier: Apache-2.0
//
// What compilers call for plain assignments and loops, also when everything else is compiled
// already. Their loops are not to become calls of themselves.
#include <string.h>

#define NOT_AT_ONCE __asm__ volatile("" ::: "memory")

__attribute__((used)) void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
  char *t = to;
  for (const char *f = from; n--;) {
    *t++ = *f++;
    NOT_AT_ONCE;
  }
  return to;
}

__attribute__((used)) void *memmove(void *to, const void *from, size_t n)
{
  char *t = to;
  const char *f = from;
  if (t <= f)
    return memcpy(to, from, n);
  while (n--) {
    t[n] = f[n];
    NOT_AT_ONCE;
  }
  return to;
}

__attribute__((used)) void *memset(void *to, int c, size_t n)
{
  for (char *t = to; n--;) {
    *t++ = (char)c;
    NOT_AT_ONCE;
  }
  return to;
}

__attribute__((used)) int memcmp(const void *a, const void *b, size_t n)
{
  const unsigned char *x = a, *y = b;
  for (; n--; x++, y++)
    if (*x != *y)
      return *x - *y;
  return 0;
}
