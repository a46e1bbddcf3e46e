// SPDX-License-Identifier: Apache-2.0
//
// Detached threads, half of which are still running when main leaves by pthread_exit.
//
// agent: yes
// build: -pthread
// truth: site ^hold: allocations=20*500, bytes=20*500*32, frees=20*499, live_blocks=20
#include "site.h"
#include <pthread.h>

SITE static void *hold(void)
{
  return malloc(32);
}

static void *work(void *turn)
{
  if ((long)turn % 2)
    usleep(50000);
  for (int i = 0; i < 500; i++) {
    void *block = hold();
    if (i)
      free(block);
  }
  return NULL;
}

int main(void)
{
  for (long i = 0; i < 20; i++) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, work, (void *)i) == 0);
    pthread_detach(thread);
  }
  pthread_exit(NULL);
}
