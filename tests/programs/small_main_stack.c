// SPDX-License-Identifier: Apache-2.0
//
// The main thread has 100 KiB of stack, by a limit set outside.
//
// wrap: sh -c 'ulimit -s 100; exec "$@"' sh
// truth: site ^grab: allocations=1000, bytes=1000*60, frees=500
// qemu: no
#include "site.h"

SITE static void *grab(void)
{
  return malloc(60);
}

int main(void)
{
  for (int i = 0; i < 1000; i++) {
    void *block = grab();
    if (i % 2)
      free(block);
  }
  return 0;
}
