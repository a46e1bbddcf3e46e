// SPDX-License-Identifier: Apache-2.0
//
// A fork child that makes children itself. Of fork() its child has nothing of its store but a page;
// one of the bare system call finds the store, and must let go of it with its first event.
//
// truth: capture: images=4
// truth: site ^by_parent: allocations=5, bytes=500
// truth@fork1: site ^by_child: allocations=13, bytes=1300
// truth@fork1: site by_grandchild: stacks=0
// truth@fork2: site ^by_grandchild: allocations=7, bytes=700
// truth@fork2: site by_child: stacks=0
// truth@fork3: site ^by_grandchild: allocations=7, bytes=700
// truth@fork3: site by_child: stacks=0
// qemu: no
#include "own_maps.h"
#include <signal.h>
#include <sys/syscall.h>
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

static void grandchild(unsigned long one_store)
{
  for (int i = 0; i < 7; i++)
    by_grandchild();
  MUST(store_bytes_writable() == one_store);
  _exit(0);
}

static void wait_for(long child)
{
  int status = -1;
  MUST(child > 0 && waitpid((pid_t)child, &status, 0) == child && status == 0);
}

static void child(void)
{
  for (int i = 0; i < 6; i++)
    by_child();
  unsigned long one_store = store_bytes_writable();
  long bare = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (bare == 0)
    grandchild(one_store);
  wait_for(bare);
  long ordinary = fork();
  if (ordinary == 0) {
    MUST(store_bytes_writable() <= CHILDREN_PAGE_BYTES);
    grandchild(one_store);
  }
  wait_for(ordinary);
  for (int i = 0; i < 7; i++)
    by_child();
  _exit(0);
}

int main(void)
{
  for (int i = 0; i < 5; i++)
    by_parent();
  long made = fork();
  if (made == 0)
    child();
  wait_for(made);
  return 0;
}
