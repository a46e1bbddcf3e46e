// SPDX-License-Identifier: Apache-2.0
//
// A grandchild goes on as a daemon when the command has long ended. It must not be harmed, and
// what it did until then is in the capture. It leaves a file behind to show that it lived.
//
// check: daemon
// truth: site ^by_starter: allocations=10
// qemu: no
#include "site.h"
#include <fcntl.h>
#include <sys/wait.h>

SITE static void by_starter(void)
{
  MUST(malloc(10));
}

SITE static void by_daemon(void)
{
  if (!malloc(1000))
    _exit(1);
}

static void be_daemon(void)
{
  setsid();
  if (fork())
    _exit(0);
  for (int fd = 0; fd < 3; fd++)
    close(fd);
  for (int i = 0; i < 30; i++)
    by_daemon();
  usleep(1500000);
  for (int i = 0; i < 30; i++)
    by_daemon();
  close(open("daemon.done", O_CREAT | O_WRONLY, 0600));
  _exit(0);
}

int main(void)
{
  for (int i = 0; i < 10; i++)
    by_starter();
  pid_t child = fork();
  if (child == 0)
    be_daemon();
  waitpid(child, NULL, 0);
  usleep(100000);
  return 0;
}
