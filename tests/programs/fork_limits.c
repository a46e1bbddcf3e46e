// SPDX-License-Identifier: Apache-2.0
//
// Limits on address space go from parent to child and to whatever the child executes; nobody is
// shown more than was set.
//
// wrap: sh -c 'ulimit -Sv 2097152; exec "$@"' sh
// truth: capture: images=5
// qemu: no
#include "site.h"
#include <sys/resource.h>
#include <sys/wait.h>

static void show(const char *name)
{
  struct rlimit limit;
  free(malloc(10)); // it has its own store now
  MUST(!getrlimit(RLIMIT_AS, &limit));
  say_number(name, limit.rlim_cur);
}

static void wait_for(pid_t child)
{
  int status;
  MUST(child > 0 && waitpid(child, &status, 0) == child && !status);
}

int main(int argc, char **argv)
{
  if (argc > 1) {
    show("executed");
    return 0;
  }
  show("parent");
  pid_t child = fork();
  if (!child) {
    show("child");
    pid_t grandchild = fork();
    if (!grandchild) {
      show("grandchild");
      execl(argv[0], argv[0], "again", NULL);
      _exit(1);
    }
    wait_for(grandchild);
    _exit(0);
  }
  wait_for(child);
  return 0;
}
