// SPDX-License-Identifier: Apache-2.0
//
// An exec that fails returns to the program, errno as it should be, and recording goes on.
//
// truth: capture: images=1
// truth: site ^grab: allocations=20, bytes=200
#include "site.h"
#include <errno.h>

SITE static void grab(void)
{
  MUST(malloc(10));
}

int main(void)
{
  for (int i = 0; i < 10; i++)
    grab();
  char *arguments[] = {"nothing", NULL}, *nothing[] = {NULL};
  MUST(execve("/nonexistent/program", arguments, nothing) == -1 && errno == ENOENT);
  MUST(execve("/", arguments, nothing) == -1 && errno == EACCES);
  MUST(execvp("no-such-program-anywhere", arguments) == -1 && errno == ENOENT);
  for (int i = 0; i < 10; i++)
    grab();
  return 0;
}
