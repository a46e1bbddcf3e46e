// SPDX-License-Identifier: Apache-2.0
//
// Keeps a block now and then, and goes on until it is ended: to be attached to and let go.
#include <stdlib.h>
#include <time.h>

static void *kept[1 << 16];

__attribute__((noinline)) static void *keep(size_t bytes)
{
  return malloc(bytes);
}

int main(void)
{
  for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++) {
    kept[i] = keep(64);
    free(malloc(256));
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return 0;
}
