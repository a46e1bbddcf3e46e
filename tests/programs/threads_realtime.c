// SPDX-License-Identifier: Apache-2.0
//
// A real-time thread and an ordinary one on the same processor, both busy with stacks nobody has
// seen: the first must not keep the second from the lock it waits for. Where it does, the kernel
// lets the other run for a moment each second, and seconds are what the real-time thread loses.
//
// needs: root
// build: -pthread
// truth: site ^leaf from hurry: allocations=2**11*8, live_blocks=0
// qemu: no
#include "site.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static atomic_bool done;

SITE static void leaf(void)
{
  free(malloc(24));
}

SITE static void right(int depth, unsigned path);

// The path says at each depth where to go on: every path is a stack.
SITE static void left(int depth, unsigned path)
{
  if (!depth)
    leaf();
  else if (path & 1)
    left(depth - 1, path >> 1);
  else
    right(depth - 1, path >> 1);
}

SITE static void right(int depth, unsigned path)
{
  if (!depth)
    leaf();
  else if (path & 1)
    left(depth - 1, path >> 1);
  else
    right(depth - 1, path >> 1);
}

SITE static void plod(unsigned path)
{
  left(16, path);
}

SITE static void hurry(unsigned path)
{
  left(12, path);
}

static void *ordinary(void *unused)
{
  for (unsigned path = 0; !done; path++)
    plod(path % (1 << 16));
  return unused;
}

static double seconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *urgent(void *unused)
{
  struct timespec while_ = {0, 20000};
  double spent = 0;
  for (unsigned i = 0; i < 1 << 11; i++) {
    nanosleep(&while_, NULL); // the other one goes on, and is interrupted wherever it is
    double from = seconds();
    for (unsigned k = 0; k < 8; k++)
      hurry(i);
    spent += seconds() - from;
  }
  MUST(spent < 3); // nobody goes before this thread: it takes a few milliseconds
  done = true;
  return unused;
}

int main(void)
{
  cpu_set_t one;
  pthread_t threads[2];
  struct sched_param priority = {.sched_priority = 10};
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  MUST(!sched_setaffinity(0, sizeof one, &one));
  MUST(!pthread_create(&threads[0], NULL, ordinary, NULL));
  MUST(!pthread_create(&threads[1], NULL, urgent, NULL));
  if (pthread_setschedparam(threads[1], SCHED_FIFO, &priority))
    _exit(97);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
