// SPDX-License-Identifier: Apache-2.0
//
// The program limits its own address space, then asks for too much: it must see the refusals it
// sees without a recorder, and what fits must still fit.
//
// truth: site ^ask: allocations=1, bytes=64*1048576, live_bytes=0
// truth: site ^small: allocations=20000, bytes=20000*100, live_blocks=20000
// truth: complete: failed_allocations=2
// qemu: no
#include "site.h"
#include <errno.h>
#include <sys/resource.h>

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
  struct rlimit limit = {512ul << 20, 512ul << 20};
  MUST(setrlimit(RLIMIT_AS, &limit) == 0);
  errno = 0;
  say(ask(1024) ? "1 GiB: yes\n" : errno == ENOMEM ? "1 GiB: ENOMEM\n" : "1 GiB: other\n");
  say(ask(513) ? "513 MiB: yes\n" : "513 MiB: no\n");
  void *fits = ask(64);
  say(fits ? "64 MiB: yes\n" : "64 MiB: no\n");
  free(fits);
  for (int i = 0; i < 20000; i++)
    MUST(small());
  return 0;
}
