// SPDX-License-Identifier: Apache-2.0
//
// A real-time program locks all its memory, under a limit that leaves room for itself alone. Our
// address space must not count, and must not be made resident.
//
// needs: root
// truth: site ^grab: allocations=100, bytes=100*1000
// qemu: no
#include "site.h"
#include <sys/mman.h>
#include <sys/resource.h>

SITE static void grab(void)
{
  MUST(malloc(1000));
}

int main(void)
{
  struct rlimit limit = {6 << 20, 6 << 20};
  for (int i = 0; i < 50; i++)
    grab();
  MUST(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
  MUST(setgid(65534) == 0 && setuid(65534) == 0);
  say(mlockall(MCL_CURRENT) == 0 ? "locked\n" : "refused\n");
  for (int i = 0; i < 50; i++)
    grab();
  return 0;
}
