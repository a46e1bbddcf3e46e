// SPDX-License-Identifier: Apache-2.0
//
// Blocks from before a reset, which it asks for itself by the command of its first argument: some
// are freed since, some are held, and new ones come at the same places.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *held[300];

__attribute__((noipa)) static void *place_a(size_t n)
{
  return malloc(n);
}
__attribute__((noipa)) static void *place_b(size_t n)
{
  return malloc(n);
}
__attribute__((noipa)) static void *place_c(size_t n)
{
  return malloc(n);
}

int main(int argc, char **argv)
{
  char pid[16];
  pid_t child;
  if (argc < 2)
    return 1;
  for (int i = 0; i < 100; i++) {
    held[i] = place_a(100);
    held[100 + i] = place_b(1000);
  }
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  char *words[] = {argv[1], "ctl", "-q", pid, "reset", NULL};
  int status = 1;
  if (posix_spawn(&child, argv[1], NULL, NULL, words, environ) ||
      waitpid(child, &status, 0) != child || status)
    return 1;
  for (int i = 0; i < 50; i++) {
    free(held[i]);
    free(place_b(2000));
    held[i] = i % 2 ? place_a(300) : NULL;
    held[200 + i] = place_c(500);
  }
  usleep(30000);
  for (int i = 0; i < 10; i++) {
    free(held[100 + i]);
    free(held[200 + i]);
  }
  return 0;
}
