// SPDX-License-Identifier: Apache-2.0
//
// The same limit set from outside, before the program and its recorder start.
//
// wrap: sh -c 'ulimit -v 524288; exec "$@"' sh
// truth: site ^ask: allocations=1, bytes=64*1048576, live_bytes=0
// truth: site ^small: allocations=20000, bytes=20000*100, live_blocks=20000
// qemu: no
#include "site.h"

SITE static void *ask(size_t mebibytes)
{
  return malloc(mebibytes << 20);
}

SITE static void *small(void)
{
  return malloc(100);
}

int main(void)
{
  say(ask(1024) ? "1 GiB: yes\n" : "1 GiB: no\n");
  void *fits = ask(64);
  say(fits ? "64 MiB: yes\n" : "64 MiB: no\n");
  free(fits);
  for (int i = 0; i < 20000; i++)
    MUST(small());
  return 0;
}
