// SPDX-License-Identifier: Apache-2.0
//
// Memory of several kinds: blocks of which one in eight survives, a large one that is hardly
// touched, two threads with arenas of their own. page_memory FILE stands still until there is a
// FILE.1 before it frees, and until there is a FILE.2 after that, 100 seconds at most.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEP __attribute__((noipa))
enum { N = 24000, LONGEST = 10000, PAUSE_US = 10000 };
static char *held[N];
static pthread_barrier_t made, seen;

KEEP static char *session(void)
{
  return memset(malloc(1000), 1, 1000);
}

KEEP static char *request(void)
{
  return memset(malloc(1000), 2, 1000);
}

KEEP static char *capacity(void)
{
  return malloc(20 << 20);
}

static void stand(const char *file, int step)
{
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", file, step);
  for (int i = 0; i < LONGEST && access(path, F_OK); i++)
    usleep(PAUSE_US);
}

static void *work(void *arg)
{
  char *own[2000];
  for (int i = 0; i < 2000; i++)
    own[i] = memset(malloc(1000), 3, 1000);
  for (int i = 0; i < 2000; i++)
    if (i % 16)
      free(own[i]);
  pthread_barrier_wait(&made);
  pthread_barrier_wait(&seen);
  return arg;
}

int main(int argc, char **argv)
{
  pthread_t threads[2];
  pthread_barrier_init(&made, NULL, 3);
  pthread_barrier_init(&seen, NULL, 3);
  char *large = capacity();
  large[0] = 1;
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, work, NULL);
  pthread_barrier_wait(&made);
  for (int i = 0; i < N; i++)
    held[i] = i % 8 ? request() : session();
  stand(argv[argc - 1], 1);
  for (int i = 0; i < N; i++)
    if (i % 8)
      free(held[i]);
  stand(argv[argc - 1], 2);
  pthread_barrier_wait(&seen);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
