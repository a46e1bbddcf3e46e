// SPDX-License-Identifier: Apache-2.0
//
// A program may take its argument vector apart once it has read it, as option parsers do. A child
// forked after that still has the command its parent began with.
//
// args: --first second
// truth: capture: images=2
// truth: site ^grab: allocations=1, bytes=33
// truth@fork: site ^grab: allocations=1, bytes=33
#include "site.h"
#include <sys/wait.h>

SITE static void grab(void)
{
  MUST(malloc(33));
}

int main(int argc, char **argv)
{
  MUST(argc == 3);
  grab();
  argv[1] = NULL;
  argv[2] = (char *)8; // nothing is there
  pid_t child = fork();
  if (!child) {
    grab();
    _exit(0);
  }
  int status;
  MUST(child > 0 && waitpid(child, &status, 0) == child && !status);
  return 0;
}
