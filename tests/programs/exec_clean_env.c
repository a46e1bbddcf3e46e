// SPDX-License-Identifier: Apache-2.0
//
// exec with an empty environment, as `env -i` does: the new image is followed all the same, and
// sees an environment that is empty but for the preload variables.
//
// truth: capture: images=2
// truth@0: site ^before: allocations=10
// truth@1: site ^after: allocations=20, bytes=20*30
// qemu: no
#include "site.h"

extern char **environ;

SITE static void before(void)
{
  MUST(malloc(30));
}

SITE static void after(void)
{
  MUST(malloc(30));
}

int main(int argc, char **argv)
{
  if (argc > 1) {
    for (int i = 0; i < 20; i++)
      after();
    for (char **at = environ; *at; at++)
      if (strncmp(*at, "LD_PRELOAD=", 11) && strncmp(*at, "TIDEMARK_OPTIONS=", 17))
        say(*at), say("\n");
    return 0;
  }
  for (int i = 0; i < 10; i++)
    before();
  char *arguments[] = {argv[0], "again", NULL}, *nothing[] = {NULL};
  execve("/proc/self/exe", arguments, nothing);
  return 1;
}
