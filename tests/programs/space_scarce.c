// SPDX-License-Identifier: Apache-2.0
//
// Under a hard limit on address space, which only privilege can raise, what the recorder maps is
// missing in the program: it maps nothing in advance then, and leaves this one what it needs.
//
// wrap: sh -c 'ulimit -v 204800; exec "$@"' sh
// truth: site ^ask: allocations=1, bytes=134*1048576, live_bytes=0
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
  for (int i = 0; i < 20000; i++)
    MUST(small());
  void *fits = ask(134);
  say(fits ? "134 MiB: yes\n" : "134 MiB: no\n");
  free(fits);
  return 0;
}
