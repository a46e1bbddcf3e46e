// SPDX-License-Identifier: Apache-2.0
//
// posix_spawn and posix_spawnp, the second with an environment made for it.
//
// truth: capture: images=3
// truth: site ^grab: allocations=1
// truth@exec: site ^after: allocations=4
// qemu: no
#include "site.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

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
  char *arguments[] = {argv[0], "again", NULL}, *fresh[] = {"COLOUR=blue", NULL};
  pid_t child;
  int status = -1;
  if (argc > 1) {
    for (int i = 0; i < 4; i++)
      after();
    say(getenv("COLOUR") ? getenv("COLOUR") : "no colour");
    return 0;
  }
  grab();
  MUST(posix_spawn(&child, argv[0], NULL, NULL, arguments, environ) == 0);
  MUST(waitpid(child, &status, 0) == child && status == 0);
  MUST(posix_spawnp(&child, argv[0], NULL, NULL, arguments, fresh) == 0);
  MUST(waitpid(child, &status, 0) == child && status == 0);
  return 0;
}
