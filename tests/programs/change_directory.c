// SPDX-License-Identifier: Apache-2.0
//
// Changes its directory and forks: captures go where the command was started, not where the
// program went, and the program's directory is its own.
//
// truth: capture: images=2
// truth: site ^grab: allocations=20, bytes=20*10
// truth@fork: site ^grab: allocations=20, bytes=20*10
#include "site.h"
#include <sys/wait.h>

SITE static void grab(void)
{
  MUST(malloc(10));
}

int main(void)
{
  int status = -1;
  char where[256];
  MUST(chdir("/") == 0 && getcwd(where, sizeof where));
  say(where);
  pid_t child = fork();
  for (int i = 0; i < 20; i++)
    grab();
  if (child == 0)
    _exit(0);
  MUST(waitpid(child, &status, 0) == child && status == 0);
  return 0;
}
