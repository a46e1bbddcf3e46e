// SPDX-License-Identifier: Apache-2.0
//
// What a process has mapped of the recorder's stores, told by the kernel, without allocating.
#pragma once
#include "site.h"
#include <fcntl.h>

enum { CHILDREN_PAGE_BYTES = 65536 }; // where fork children count themselves

static inline unsigned long hex(const char **at)
{
  unsigned long v = 0;
  for (;; ++*at) {
    char c = **at;
    if (c >= '0' && c <= '9')
      v = v << 4 | (unsigned long)(c - '0');
    else if (c >= 'a' && c <= 'f')
      v = v << 4 | (unsigned long)(c - 'a' + 10);
    else
      return v;
  }
}

// The first store that this process could write, NULL: none, and the bytes of all.
static inline char *store_found(unsigned long *ret_bytes)
{
  static char text[1 << 18];
  long n = 0, some, fd = open("/proc/self/maps", O_RDONLY);
  MUST(fd >= 0);
  while ((some = read((int)fd, text + n, sizeof text - 1 - (unsigned long)n)) > 0)
    n += some;
  MUST(close((int)fd) == 0 && n > 0 && n < (long)sizeof text - 1);
  text[n] = 0;
  char *first = NULL;
  *ret_bytes = 0;
  for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
    *end = 0;
    const char *at = line;
    unsigned long lo = hex(&at), hi = (at++, hex(&at));
    if (at[2] == 'w' && (strstr(line, "memfd:tidemark") || strstr(line, ".store")))
      first = *ret_bytes ? first : (char *)lo, *ret_bytes += hi - lo;
  }
  return first;
}

static inline unsigned long store_bytes_writable(void)
{
  unsigned long bytes;
  store_found(&bytes);
  return bytes;
}

// As "tidemark ctl" does it from outside: the word, then the pulse (store/layout.h).
static inline void switch_recording(char *store, unsigned is_off)
{
  if (!store)
    return;
  __atomic_store_n((unsigned *)(store + 28), is_off, __ATOMIC_RELAXED);
  __atomic_fetch_add((unsigned *)(store + 12), 1, __ATOMIC_RELEASE);
}
