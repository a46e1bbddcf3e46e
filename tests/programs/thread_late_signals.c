// SPDX-License-Identifier: Apache-2.0
//
// A thread that goes on allocating after its last destructor round, interrupted all the while by a
// signal handler that maps and unmaps: it must not wait for what it holds itself, and such a thread
// is still one thread. What the handler does is lost now and then, and says so.
//
// build: -pthread
// timeout: 30
// truth: site ^late: allocations=100000, frees=100000
// truth: complete: lost_busy>=0
// truth: image: threads<=2
// qemu: no
#include "site.h"
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

static pthread_key_t key;
static atomic_bool done;

SITE static void *late(void)
{
  return malloc(40);
}

static void on_signal(int signal)
{
  (void)signal;
  void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(p, 4096);
}

static void destructor(void *round)
{
  if ((long)round < PTHREAD_DESTRUCTOR_ITERATIONS) { // ask to be called again
    pthread_setspecific(key, (void *)((long)round + 1));
    return;
  }
  for (int i = 0; i < 100000; i++)
    free(late());
  done = true;
}

static void *work(void *unused)
{
  free(malloc(1));
  pthread_setspecific(key, (void *)1);
  return unused;
}

int main(void)
{
  pthread_t worker;
  signal(SIGUSR1, on_signal);
  pthread_key_create(&key, destructor);
  MUST(!pthread_create(&worker, NULL, work, NULL));
  while (!done)
    pthread_kill(worker, SIGUSR1);
  pthread_join(worker, NULL);
  return 0;
}
