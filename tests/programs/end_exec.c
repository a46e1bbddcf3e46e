// SPDX-License-Identifier: Apache-2.0
//
// 100 blocks, then the program replaces itself. The first image keeps its blocks, the second
// has its own and nothing of the first.
//
// truth: capture: images=2
// truth@0: total: allocations=100, bytes=5000, live_blocks=100, peak_bytes=5000
// truth@0: site ^before: allocations=100, bytes=5000, live_bytes=5000
// truth@0: image: end=execed
// truth@1: total: allocations=40, bytes=400, frees=40, live_blocks=0, peak_bytes=400
// truth@1: site ^after: allocations=40, bytes=400, frees=40
// truth@1: image: end=exited
// qemu: no
#include "site.h"

static void *kept[100];

SITE static void before(int i)
{
  kept[i] = malloc(50);
}

SITE static void after(int i)
{
  kept[i] = malloc(10);
}

int main(int argc, char **argv)
{
  if (argc > 1) {
    for (int i = 0; i < 40; i++)
      after(i);
    for (int i = 0; i < 40; i++)
      free(kept[i]);
    say("second image\n");
    return 0;
  }
  for (int i = 0; i < 100; i++)
    before(i);
  execl("/proc/self/exe", argv[0], "again", (char *)0);
  return 1;
}
