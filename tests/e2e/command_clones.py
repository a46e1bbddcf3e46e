# SPDX-License-Identifier: Apache-2.0
"""Processes in another's memory, and programs that are become by a system call of one's own."""
from ground import expect, test

# 20 processes by clone(CLONE_VM), one after the other, and a vfork child: all allocate.
SHARES = """
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int child(void *arg)
{
  for (int i = 0; i < 100; i++) free(malloc(100));
  return arg != NULL;
}
int main(void)
{
  int wrong = 0, status;
  char *stack = malloc(1 << 20);
  for (int k = 0; k < 20; k++) {
    pid_t pid = clone(child, stack + (1 << 20), CLONE_VM | SIGCHLD, NULL);
    wrong |= waitpid(pid, &status, 0) != pid || status;
  }
  pid_t pid = vfork();
  if (!pid) {
    free(malloc(7));
    _exit(0);
  }
  return wrong | (waitpid(pid, &status, 0) != pid || status);
}
"""
BECOMES = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
  char *words[] = {"sleep", "1", NULL}, *none[] = {NULL}, **env = argc > 2 ? environ : none;
  int fd = open("/bin/sleep", O_RDONLY);
  free(malloc(10));
  if (argv[1][0] == 'r') syscall(SYS_execve, "/bin/sleep", words, env);
  if (argv[1][0] == 'a') syscall(SYS_execveat, fd, "", words, env, AT_EMPTY_PATH);
  return 1;
}
"""


@test
def processes_that_share_memory_are_counted(ground):
    prog = ground.build("shares", SHARES)
    for how in "preload", "agent":
        done = ground.record("-f", "-o", "x.tide", "--how", how, "--", prog)
        expect(done.status == 0 and "complete: every event" in done.stderr, done.stderr)
        n = ground.report("x.tide")["totals"]["allocations"]
        expect(n == 2002, f"{how}: {n} allocations")


# A child of the bare system call, which waits for longer than anybody is given to come.
IDLE = """
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  (void)argv;
  free(malloc(10));
  long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (!pid) {
    nanosleep(&(struct timespec){.tv_nsec = 700000000}, NULL);
    if (argc > 1) free(malloc(20));
    _exit(0);
  }
  return pid < 0 || waitpid((int)pid, NULL, 0) != pid;
}
"""


@test
def children_that_allocate_nothing_are_not_missed(ground):
    """However they were made: they have the recorder, and would be recorded."""
    prog = ground.build("idle", IDLE)
    for how in "preload", "agent":
        for words, images in ((), 1), (("works",), 2):
            done = ground.record("-f", "-o", "x.tide", "--how", how, "--", prog, *words)
            expect(done.status == 0 and "complete: every event" in done.stderr,
                   f"{how}: {done.stderr}")
            report = ground.report("x.tide")
            expect(len(report["images"]) == images, f"{how}: {report['images']}")


@test
def raw_execs_of_the_agents_are_followed_or_listed(ground):
    """With the environment what it becomes is recorded; without, it is listed with the reason."""
    prog = ground.build("becomes", BECOMES, "-static")
    for kind in "ra":
        done = ground.record("-f", "-o", "x.tide", "--", prog, kind, "with")
        expect(done.status == 0 and "complete: every event" in done.stderr, done.stderr)
        expect(not ground.report("x.tide")["capture"]["run"]["unrecorded"], "it was recorded")
        done = ground.record("-f", "-o", "x.tide", "--", prog, kind)
        expect(done.status == 0 and "complete: every event" not in done.stderr, done.stderr)
        [row] = ground.report("x.tide")["capture"]["run"]["unrecorded"]
        expect(row["program"] == "sleep" and row["reason"] == "environment", f"{row}")
