// SPDX-License-Identifier: Apache-2.0
//
// Prints what it was given: arguments, environment (the preload variables aside), open
// descriptors, signal masks and dispositions, directory, limits. The runner compares it with an
// unrecorded run.
//
// env: FRUIT=apple
// stdin: hello from stdin
// args: one 'two words' ''
// truth: site ^grab: allocations=3
#include "site.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

extern char **environ;

SITE static void grab(void)
{
  MUST(malloc(10));
}

static void print_environment(void)
{
  for (char **at = environ; *at; at++)
    if (strncmp(*at, "LD_PRELOAD=", 11) && strncmp(*at, "TIDEMARK_OPTIONS=", 17))
      printf("env %s\n", *at);
}

static void print_descriptors(void)
{
  for (int fd = 0; fd < 256; fd++) {
    char link[64], target[256];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, target, sizeof target - 1);
    if (n >= 0) {
      target[n] = 0;
      printf("fd %d %.*s\n", fd, (int)strcspn(target, ":"), target);
    }
  }
}

static void print_signals(void)
{
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  for (int number = 1; number < 65; number++) {
    struct sigaction action;
    if (sigismember(&blocked, number) > 0)
      printf("blocked %d\n", number);
    if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
      printf("disposition %d %s\n", number, action.sa_handler == SIG_IGN ? "ignored" : "handled");
  }
}

int main(int argc, char **argv)
{
  char where[512], line[64] = "";
  struct rlimit limit;
  for (int i = 0; i < 3; i++)
    grab();
  for (int i = 1; i < argc; i++)
    printf("arg [%s]\n", argv[i]);
  print_environment();
  print_descriptors();
  print_signals();
  printf("in %s\n", getcwd(where, sizeof where));
  for (int what = 0; what < RLIM_NLIMITS; what++)
    if (getrlimit((enum __rlimit_resource)what, &limit) == 0)
      printf("limit %d %lu %lu\n", what, (unsigned long)limit.rlim_cur,
             (unsigned long)limit.rlim_max);
  printf("read %zd bytes: %s\n", read(0, line, sizeof line - 1), line);
  fprintf(stderr, "and this to stderr\n");
  return 0;
}
