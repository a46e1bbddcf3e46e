// SPDX-License-Identifier: Apache-2.0
//
// Many threads at once, of like behaviour: each allocates and frees at random. Their events have
// one order, in which the program keeps its own books. The peak that is told is at most the true
// one (but for what libc itself holds for each thread) and, with the bound, at least that; and the
// bound is small.
//
// build: -pthread
// run[a pool]: 64 4000 2000 16
// run[a thousand]: 1000 300 1000 16
// run[large]: 1000 100 65536 16
// run[hardly anything]: 1000 300 40 1
// run[four thousand]: 4000 60 1000 10
// truth: total: bound_per_mille<=49
// qemu: no
#include "site.h"
#include <pthread.h>

enum { MOST = 64, LIBCS_OWN = 600 }; // bytes for each thread

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;
static unsigned long total, peak;
static unsigned n_events, largest, n_held;

SITE static void *hold(unsigned size)
{
  return malloc(size);
}

static void event(void **block, unsigned *size, unsigned next)
{
  pthread_mutex_lock(&order);
  if (*block) {
    total -= *size;
    free(*block);
    *block = NULL;
  } else {
    *size = next;
    *block = hold(next);
    total += next;
    peak = total > peak ? total : peak;
  }
  pthread_mutex_unlock(&order);
}

static void *work(void *number)
{
  void *block[MOST] = {0};
  unsigned size[MOST], rng = (unsigned)(long)number + 1;
  pthread_barrier_wait(&all);
  for (unsigned i = 0; i < n_events; i++)
    event(&block[i % n_held], &size[i % n_held], 1 + (unsigned)rand_r(&rng) % largest);
  for (unsigned i = 0; i < n_held; i++)
    if (block[i])
      event(&block[i], &size[i], 0);
  return NULL;
}

int main(int argc, char **argv)
{
  static pthread_t thread[4000];
  pthread_attr_t small;
  MUST(argc == 5);
  unsigned n = (unsigned)atoi(argv[1]);
  n_events = (unsigned)atoi(argv[2]);
  largest = (unsigned)atoi(argv[3]);
  n_held = (unsigned)atoi(argv[4]);
  pthread_barrier_init(&all, NULL, n);
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (unsigned i = 0; i < n; i++)
    MUST(pthread_create(&thread[i], &small, work, (void *)(long)i) == 0);
  for (unsigned i = 0; i < n; i++)
    MUST(pthread_join(thread[i], NULL) == 0);
  say_number("truth: total: peak_bytes <=", peak + n * LIBCS_OWN + 8192);
  say_number("truth: total: peak_and_bound_bytes >=", peak);
  return 0;
}
