// SPDX-License-Identifier: Apache-2.0
//
// Becomes nobody, goes on allocating, and forks.
//
// needs: root
// bare: no
// truth: capture: images=2
// truth: site ^grab: allocations=40, bytes=40*10
// truth@fork: site ^grab: allocations=20, bytes=20*10
#include "site.h"
#include <grp.h>
#include <sys/wait.h>

SITE static void grab(void)
{
  MUST(malloc(10));
}

int main(void)
{
  int status = -1;
  for (int i = 0; i < 20; i++)
    grab();
  MUST(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
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
