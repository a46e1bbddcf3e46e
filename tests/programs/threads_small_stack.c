// SPDX-License-Identifier: Apache-2.0
//
// Threads with the smallest stack pthreads allows: the recorder must get along with what is left.
//
// build: -pthread
// truth: site ^hold: allocations=8*1000, bytes=8000*48, frees=8000
// qemu: no
#include "site.h"
#include <limits.h>
#include <pthread.h>

SITE static void *hold(void)
{
  return malloc(48);
}

static void *work(void *unused)
{
  for (int i = 0; i < 1000; i++)
    free(realloc(hold(), 96));
  return unused;
}

int main(void)
{
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  MUST(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0);
  for (int i = 0; i < 8; i++) {
    pthread_t thread;
    MUST(pthread_create(&thread, &attributes, work, NULL) == 0);
    pthread_join(thread, NULL);
  }
  return 0;
}
