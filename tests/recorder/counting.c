// SPDX-License-Identifier: Apache-2.0
//
// An allocator that counts its calls, preloaded behind the recorder: whatever the recorder asked
// for would be seen here. At the end it writes the count to the descriptor named by COUNT_FD.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static atomic_ulong calls;

void *malloc(size_t n)
{
  calls++;
  return __libc_malloc(n);
}
void *calloc(size_t n, size_t each)
{
  calls++;
  return __libc_calloc(n, each);
}
void *realloc(void *old, size_t n)
{
  calls++;
  return __libc_realloc(old, n);
}
void free(void *p)
{
  calls += p != NULL;
  __libc_free(p);
}

__attribute__((destructor)) static void tell(void)
{
  const char *fd = getenv("COUNT_FD");
  if (fd)
    dprintf(atoi(fd), "%lu\n", calls);
}
