// SPDX-License-Identifier: Apache-2.0
//
// The first thing a child does is to resize a block of its parent's; then it resizes another one
// to nothing. Both are ends of blocks that are not its own.
//
// truth: capture: images=2
// truth: site ^in_parent: allocations=2, bytes=2*80, live_blocks=2
// truth@fork: total: allocations=1, bytes=200, frees=0, resizes=0, live_blocks=1
// truth@fork: complete: unknown_frees=2
#include "site.h"
#include <sys/wait.h>

SITE static void *in_parent(void)
{
  return malloc(80);
}

int main(void)
{
  void *first = in_parent(), *second = in_parent();
  pid_t child = fork();
  if (child == 0) {
    MUST(realloc(first, 200));
    MUST(!realloc(second, 0));
    _exit(0);
  }
  int status = -1;
  MUST(waitpid(child, &status, 0) == child && !status);
  return 0;
}
