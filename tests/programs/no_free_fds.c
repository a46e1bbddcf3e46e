// SPDX-License-Identifier: Apache-2.0
//
// Not one descriptor is free when the program forks: the child cannot reach the supervisor. It
// must run as it would, and the capture must either hold it or say that it lost it.
//
// truth: site ^grab: allocations=50, bytes=50*10
// truth: capture: images_and_lost=2
// truth: complete: fork_lost>=0
#include "site.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

SITE static void grab(void)
{
  MUST(malloc(10));
}

int main(void)
{
  struct rlimit limit = {24, 24};
  int status = -1, n = 0;
  MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  while (open("/dev/null", O_RDONLY) >= 0)
    n++;
  MUST(n > 0);
  for (int i = 0; i < 50; i++)
    grab();
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 10; i++)
      free(malloc(10));
    _exit(open("/dev/null", O_RDONLY) < 0 ? 7 : 8);
  }
  MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  return 0;
}
