// SPDX-License-Identifier: Apache-2.0
//
// A fork child never has its parent's store to write to, whether it allocates or not: a child that
// runs wild, or is taken over, cannot reach its parent that way. What that held is told all the
// same.
//
// truth: capture: images=2
// truth: site ^grab: allocations=20, bytes=20*100
// truth@fork: site ^grab: allocations=5, bytes=5*100
// truth@fork: image: inherited_bytes=2000
#include "own_maps.h"
#include <sys/wait.h>

SITE static void grab(void)
{
  MUST(malloc(100));
}

static void fork_one(int n_allocations)
{
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    MUST(store_bytes_writable() <= CHILDREN_PAGE_BYTES);
    for (int i = 0; i < n_allocations; i++)
      grab();
    _exit(5);
  }
  MUST(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
}

int main(void)
{
  for (int i = 0; i < 20; i++)
    grab();
  fork_one(0);
  fork_one(5);
  return 0;
}
