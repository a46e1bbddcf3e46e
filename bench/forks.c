// SPDX-License-Identifier: Apache-2.0
//
// Processes that live for a moment, one kind per run. Knows nothing of any profiler: the same
// binary runs under each.
//
//   forks MODE N [COMMAND [ARGUMENT…]]
//
//   none      no child at all: what the program itself costs
//   only      fork; the child ends at once and allocates nothing
//   allocate  fork; the child allocates and frees a few blocks
//   exec      fork and exec of COMMAND
//
// One child at a time, each waited for. The parent holds some blocks, as a program that forks does.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELD = 1000, BLOCKS = 32 };

static void *held[HELD];

__attribute__((noinline)) static void *block(int i)
{
  char *p = malloc((size_t)(16 + 24 * i));
  if (!p)
    _exit(1);
  p[0] = (char)i;
  return p;
}

static void few_blocks(void)
{
  void *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++)
    blocks[i] = block(i);
  for (int i = 0; i < BLOCKS; i += 2)
    free(blocks[i]);
}

static void child(const char *mode, char **command)
{
  if (!strcmp(mode, "allocate"))
    few_blocks();
  if (!strcmp(mode, "exec")) {
    execv(command[0], command);
    _exit(127);
  }
  _exit(0);
}

int main(int argc, char **argv)
{
  long n = argc > 2 ? strtol(argv[2], NULL, 10) : -1;
  if (n < 0 || (!strcmp(argv[1], "exec") && argc < 4)) {
    fprintf(stderr, "usage: forks none|only|allocate|exec N [COMMAND…]\n");
    return 2;
  }
  for (int i = 0; i < HELD; i++)
    held[i] = block(i % BLOCKS);
  for (long i = 0; i < n && strcmp(argv[1], "none") != 0; i++) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
      child(argv[1], argv + 3);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
      fprintf(stderr, "forks: child %ld of %ld failed\n", i, n);
      return 1;
    }
  }
  return 0;
}
