// SPDX-License-Identifier: Apache-2.0
//
// A child that forks a grandchild and leaves at once: three images, each with its own numbers.
//
// truth: capture: images=3
// truth: site ^by_parent: allocations=5, bytes=500
// truth@fork1: site ^by_child: allocations=6, bytes=600
// truth@fork2: site ^by_grandchild: allocations=7, bytes=700
#include "site.h"
#include <sys/wait.h>

SITE static void by_parent(void)
{
  MUST(malloc(100));
}

SITE static void by_child(void)
{
  MUST(malloc(100));
}

SITE static void by_grandchild(void)
{
  MUST(malloc(100));
}

int main(void)
{
  int alive[2];
  char end;
  for (int i = 0; i < 5; i++)
    by_parent();
  MUST(pipe(alive) == 0);
  if (fork() == 0) {
    for (int i = 0; i < 6; i++)
      by_child();
    if (fork() == 0) {
      usleep(20000);
      for (int i = 0; i < 7; i++)
        by_grandchild();
    }
    _exit(0);
  }
  close(alive[1]);
  MUST(read(alive[0], &end, 1) == 0); // both have gone
  while (wait(NULL) > 0)
    ;
  return 0;
}
