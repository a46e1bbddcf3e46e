// SPDX-License-Identifier: Apache-2.0
//
// A child that inherits 100 blocks, frees 30 of them, allocates 20 of its own and leaves by
// _exit: its frees of the parent's blocks are known not to be its own.
//
// truth: capture: images=2
// truth: total: allocations=100, frees=100, bytes=100*80, live_blocks=0
// truth: site ^in_parent: allocations=100, frees=100
// truth@fork: site ^in_child: allocations=20, bytes=20*8, live_blocks=20
// truth@fork: total: allocations=20, frees=0, live_blocks=20
// truth@fork: complete: unknown_frees=30
// truth@fork: image: inherited_bytes=8000, end=exited
#include "site.h"
#include <sys/wait.h>

static void *kept[100];

SITE static void in_parent(int i)
{
  kept[i] = malloc(80);
}

SITE static void in_child(void)
{
  MUST(malloc(8));
}

int main(void)
{
  int status = -1;
  for (int i = 0; i < 100; i++)
    in_parent(i);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 20; i++)
      in_child();
    for (int i = 0; i < 30; i++)
      free(kept[i]);
    _exit(9);
  }
  MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9);
  for (int i = 0; i < 100; i++)
    free(kept[i]);
  return 0;
}
