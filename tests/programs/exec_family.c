// SPDX-License-Identifier: Apache-2.0
//
// Every way to exec, one after the other in children, each followed into an image of its own.
//
// truth: capture: images=15
// truth@exec: site ^after: allocations=4, bytes=4*30
// qemu: no
#include "site.h"
#include <fcntl.h>
#include <sys/wait.h>

extern char **environ;

SITE static void before(void)
{
  MUST(malloc(7));
}

SITE static void after(void)
{
  MUST(malloc(30));
}

static void replace(int how, char *self)
{
  char *arguments[] = {self, "again", NULL};
  before();
  switch (how) {
  case 0: execl(self, self, "again", (char *)0); break;
  case 1: execlp(self, self, "again", (char *)0); break;
  case 2: execle(self, self, "again", (char *)0, environ); break;
  case 3: execv(self, arguments); break;
  case 4: execvp(self, arguments); break;
  case 5: execvpe(self, arguments, environ); break;
  case 6: fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environ); break;
  }
  _exit(1);
}

int main(int argc, char **argv)
{
  if (argc > 1) {
    for (int i = 0; i < 4; i++)
      after();
    return 0;
  }
  before();
  for (int how = 0; how < 7; how++) {
    int status = -1;
    pid_t child = fork();
    if (child == 0)
      replace(how, argv[0]);
    MUST(waitpid(child, &status, 0) == child && status == 0);
  }
  return 0;
}
