// SPDX-License-Identifier: Apache-2.0
//
// Replaces itself ten times, each time having thrown its environment away: eleven images of one
// process, in order, the last one shown to end.
//
// truth: capture: images=11
// truth@0: site ^grab: allocations=1, bytes=100
// truth@5: site ^grab: allocations=6, bytes=600
// truth@10: site ^grab: allocations=11, bytes=1100
// truth@10: image: end=exited
// qemu: no
#include "site.h"

SITE static void grab(void)
{
  MUST(malloc(100));
}

int main(int argc, char **argv)
{
  char count[] = {argc > 1 ? argv[1][0] : 'a', 0};
  for (volatile char i = 'a'; i <= count[0]; i++)
    grab();
  if (count[0] == 'k')
    return 0;
  count[0]++;
  clearenv();
  execl("/proc/self/exe", argv[0], count, (char *)0);
  return 1;
}
