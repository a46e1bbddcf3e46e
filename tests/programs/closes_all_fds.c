// SPDX-License-Identifier: Apache-2.0
//
// Closes every descriptor above stderr by close_range, allocates, forks; the child closes even
// the standard ones. Both are recorded to the end.
//
// truth: capture: images=2
// truth: site ^grab: allocations=100, bytes=100*10
// truth@fork: site ^grab_in_child: allocations=60, bytes=60*20
#include "site.h"
#include <sys/syscall.h>
#include <sys/wait.h>

SITE static void grab(void)
{
  MUST(malloc(10));
}

SITE static void grab_in_child(void)
{
  if (!malloc(20))
    _exit(1);
}

int main(void)
{
  int status = -1;
  grab();
  syscall(SYS_close_range, 3, ~0u, 0);
  for (int i = 1; i < 100; i++)
    grab();
  pid_t child = fork();
  if (child == 0) {
    grab_in_child();
    for (int i = 0; i < 1024; i++)
      close(i);
    for (int i = 1; i < 60; i++)
      grab_in_child();
    _exit(7);
  }
  MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  return 0;
}
