// SPDX-License-Identifier: Apache-2.0
//
// A child made by the bare system call, behind libc's back: no fork handler runs, and yet the
// child must not write into its parent's profile, nor have it at hand.
//
// truth: capture: images=2
// truth: site ^by_parent: allocations=30, bytes=300
// truth: site by_child: stacks=0
// truth@fork: site ^by_child: allocations=40, bytes=400
// truth@fork: site by_parent: stacks=0
// qemu: no
#include "own_maps.h"
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

SITE static void by_parent(void)
{
  MUST(malloc(10));
}

SITE static void by_child(void)
{
  MUST(malloc(10));
}

int main(void)
{
  int status = -1;
  for (int i = 0; i < 20; i++)
    by_parent();
  long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    MUST(store_bytes_writable() <= CHILDREN_PAGE_BYTES);
    for (int i = 0; i < 40; i++)
      by_child();
    _exit(0);
  }
  MUST(child > 0 && waitpid((pid_t)child, &status, 0) == child && status == 0);
  for (int i = 0; i < 10; i++)
    by_parent();
  return 0;
}
