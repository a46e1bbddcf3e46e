// SPDX-License-Identifier: Apache-2.0
//
// vfork and exec: the child borrows the parent's memory until it execs; the parent's numbers are
// its own, the child's image is recorded.
//
// truth: capture: images=11
// truth: site ^grab: allocations=20, bytes=20*10
// truth@exec: site ^after: allocations=4
// qemu: no
#include "site.h"
#include <sys/wait.h>

SITE static void grab(void)
{
  MUST(malloc(10));
}

SITE static void after(void)
{
  MUST(malloc(30));
}

int main(int argc, char **argv)
{
  if (argc > 1) {
    for (int i = 0; i < 4; i++)
      after();
    return 0;
  }
  for (int i = 0; i < 10; i++) {
    int status = -1;
    grab();
    pid_t child = vfork();
    if (child == 0) {
      execl(argv[0], argv[0], "again", (char *)0);
      _exit(1);
    }
    grab();
    MUST(waitpid(child, &status, 0) == child && status == 0);
  }
  return 0;
}
