// SPDX-License-Identifier: Apache-2.0
//
// many N: so many threads, each of which allocates now and then, until it is told to end.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *allocate(void *arg)
{
  for (;;) {
    void *volatile block = malloc(100);
    free(block);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
  }
  return arg;
}

int main(int argc, char **argv)
{
  pthread_t thread;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 1 << 16);
  for (int i = 0; argc > 1 && i < atoi(argv[1]); i++)
    if (pthread_create(&thread, &small, allocate, NULL))
      return 1;
  puts("ready");
  fflush(stdout);
  getchar();
  return 0;
}
