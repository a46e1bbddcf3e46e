// SPDX-License-Identifier: Apache-2.0
//
// Memory of several kinds, in steps with a pause after each: blocks of which one in eight survives,
// a large one that is hardly touched, two threads with arenas of their own.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEP __attribute__((noipa))
enum { N = 24000, STEP_US = 400000 };
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

int main(void)
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
  usleep(STEP_US);
  for (int i = 0; i < N; i++)
    if (i % 8)
      free(held[i]);
  usleep(STEP_US);
  pthread_barrier_wait(&seen);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
