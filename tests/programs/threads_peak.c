// SPDX-License-Identifier: Apache-2.0
//
// Four threads hold 8 MiB together at one barrier and nothing after it: the peak is known within
// the stated bound, however the threads interleave.
//
// build: -pthread
// truth: site ^hold: allocations=4*2048, bytes=8388608, frees=8192, live_bytes=0
// truth: total: peak_bytes>=8388608*999/1000-4*8192, peak_bytes<=8388608*1001/1000+4*8192+8192
#include "site.h"
#include <pthread.h>

static pthread_barrier_t all;

SITE static void *hold(void)
{
  return malloc(1024);
}

static void *work(void *unused)
{
  void *block[2048];
  for (int i = 0; i < 2048; i++)
    block[i] = hold();
  pthread_barrier_wait(&all);
  for (int i = 0; i < 2048; i++)
    free(block[i]);
  return unused;
}

int main(void)
{
  pthread_t thread[4];
  pthread_barrier_init(&all, NULL, 4);
  for (int i = 0; i < 4; i++)
    pthread_create(&thread[i], NULL, work, NULL);
  for (int i = 0; i < 4; i++)
    pthread_join(thread[i], NULL);
  return 0;
}
