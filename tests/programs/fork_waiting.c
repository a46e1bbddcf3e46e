// SPDX-License-Identifier: Apache-2.0
//
// A fork while a block waits to be booked: it comes after temporaries of its own stack, and nothing
// has happened since. The child inherits it like any other.
//
// truth: capture: images=2
// truth: total: allocations=101, frees=99, live_blocks=2
// truth@fork: site ^in_child: allocations=1, bytes=16
// truth@fork: image: inherited_bytes=5000, end=exited
#include "site.h"
#include <sys/wait.h>

static void *volatile kept[2];

SITE static void *make(void)
{
  return malloc(1000);
}

SITE static void in_child(void)
{
  MUST(malloc(16));
}

int main(void)
{
  int status = -1;
  kept[0] = malloc(4000);
  for (int i = 0; i < 100; i++) {
    kept[1] = make();
    if (i < 99)
      free(kept[1]);
  }
  pid_t child = fork();
  if (child == 0) {
    in_child();
    _exit(0);
  }
  waitpid(child, &status, 0);
  return status;
}
