// SPDX-License-Identifier: Apache-2.0
//
// Destructors of thread-specific keys run when the thread has all but gone; they free a block
// and make another, in several rounds, after the thread's own storage may have been torn down.
//
// build: -pthread
// truth: site ^first_value: allocations=50, frees=50, bytes=50*30
// truth: site ^late_value: allocations=50*3, bytes=150*60, frees=150
#include "site.h"
#include <pthread.h>

static pthread_key_t key;

SITE static void *first_value(void)
{
  return calloc(1, 30);
}

SITE static void *late_value(void)
{
  return calloc(1, 60);
}

static void destructor(void *value)
{
  char round = *(char *)value;
  free(value);
  if (round < 3) { // ask to be called again
    char *late = late_value();
    *late = (char)(round + 1);
    pthread_setspecific(key, late);
  }
}

static void *work(void *unused)
{
  pthread_setspecific(key, first_value());
  return unused;
}

int main(void)
{
  MUST(pthread_key_create(&key, destructor) == 0);
  for (int i = 0; i < 50; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
  }
  return 0;
}
