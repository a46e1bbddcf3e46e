// SPDX-License-Identifier: Apache-2.0
//
// More threads at once than a small store has room for: 127 under a limit on address space. What
// the others do is counted as lost, and costs no memory however often they come back.
//
// wrap: sh -c 'ulimit -v 262144; exec "$@"' sh
// build: -pthread
// env: MALLOC_ARENA_MAX=1
// truth: site ^grab: allocations=126*300, frees=126*300
// truth: complete: lost_full=24*2*300
// truth: image: threads=127
// qemu: no
#include "site.h"
#include <pthread.h>

enum { THREADS = 150, ROUNDS = 300 };
static pthread_barrier_t all_here;

SITE static void *grab(void)
{
  return malloc(16);
}

static void *work(void *unused)
{
  void *p = grab();
  free(p);
  pthread_barrier_wait(&all_here); // nobody leaves a slot to the next before all have asked
  for (int i = 1; i < ROUNDS; i++) {
    p = grab();
    free(p);
  }
  pthread_barrier_wait(&all_here);
  return unused;
}

int main(void)
{
  pthread_t threads[THREADS];
  pthread_attr_t small;
  free(malloc(1)); // the main thread has its slot
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  pthread_barrier_init(&all_here, NULL, THREADS);
  for (int i = 0; i < THREADS; i++)
    MUST(!pthread_create(&threads[i], &small, work, NULL));
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
