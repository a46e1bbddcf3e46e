// SPDX-License-Identifier: Apache-2.0
//
// An address comes round twice: main allocates it, the thread frees it, gets the same address
// from its own cache and hands it back to main, who frees it. Nothing here is temporary, though
// the address main frees is the very one it allocated last.
//
// build: -pthread
// truth: site ^by_main: allocations=1, frees=1, foreign_frees=1, temporary=0
// truth: site ^by_thread: allocations=1, frees=1, foreign_frees=1, temporary=0
#include "site.h"
#include <pthread.h>

SITE static void *by_main(void)
{
  return malloc(48);
}

SITE static void *by_thread(void)
{
  return malloc(48);
}

static pthread_barrier_t meet;
static void *passed;

static void *swap(void *unused)
{
  pthread_barrier_wait(&meet);
  void *first = passed;
  free(first);
  passed = by_thread();
  MUST(passed == first);
  pthread_barrier_wait(&meet);
  return unused;
}

int main(void)
{
  pthread_t thread;
  pthread_barrier_init(&meet, NULL, 2);
  pthread_create(&thread, NULL, swap, NULL);
  passed = by_main();
  pthread_barrier_wait(&meet);
  pthread_barrier_wait(&meet);
  free(passed);
  pthread_join(thread, NULL);
  return 0;
}
