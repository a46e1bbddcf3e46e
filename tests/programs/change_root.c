// SPDX-License-Identifier: Apache-2.0
//
// Changes its root to an empty directory, goes on allocating, and forks: the child is recorded
// although no path of the old world can be opened any more.
//
// needs: root
// bare: no
// truth: capture: images=2
// truth: site ^grab: allocations=40, bytes=40*10
// truth@fork: site ^grab: allocations=20, bytes=20*10
#include "site.h"
#include <sys/stat.h>
#include <sys/wait.h>

SITE static void grab(void)
{
  MUST(malloc(10));
}

int main(void)
{
  int status = -1;
  char name[] = "emptyroot.XXXXXX";
  for (int i = 0; i < 20; i++)
    grab();
  MUST(mkdtemp(name) && chroot(name) == 0 && chdir("/") == 0);
  for (int i = 0; i < 20; i++)
    grab();
  pid_t child = fork();
  for (int i = 0; child == 0 && i < 20; i++)
    grab();
  if (child == 0)
    _exit(0);
  MUST(waitpid(child, &status, 0) == child && status == 0);
  return 0;
}
