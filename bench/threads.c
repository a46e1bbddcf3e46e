// SPDX-License-Identifier: Apache-2.0
//
// N threads at once, each with 64 blocks of 16 to 1,000 bytes of which it replaces a random one,
// again and again. Prints nanoseconds per replacement: wall time of all threads, from the moment
// when all are there until the last is done, divided by the number of replacements in all.
//
//   threads N REPLACEMENTS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { HELD = 64, MOST = 4096 };

static pthread_barrier_t begin, end;
static long n_each;

static void *work(void *number)
{
  void *held[HELD];
  unsigned rng = (unsigned)(long)number * 7919 + 1;
  for (int i = 0; i < HELD; i++)
    held[i] = malloc(16 + (size_t)rand_r(&rng) % 985);
  pthread_barrier_wait(&begin);
  for (long i = 0; i < n_each; i++) {
    unsigned at = (unsigned)rand_r(&rng) % HELD;
    free(held[at]);
    held[at] = malloc(16 + (size_t)rand_r(&rng) % 985);
  }
  pthread_barrier_wait(&end);
  for (int i = 0; i < HELD; i++)
    free(held[i]);
  return NULL;
}

static double now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
  static pthread_t threads[MOST];
  int n = argc > 2 ? atoi(argv[1]) : 0;
  if (n < 1 || n > MOST)
    return 2;
  n_each = atol(argv[2]) / n;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  pthread_barrier_init(&begin, NULL, (unsigned)n + 1);
  pthread_barrier_init(&end, NULL, (unsigned)n + 1);
  for (long i = 0; i < n; i++)
    if (pthread_create(&threads[i], &small, work, (void *)i))
      return 1;
  pthread_barrier_wait(&begin);
  double from = now_ns();
  pthread_barrier_wait(&end);
  printf("%.2f\n", (now_ns() - from) / (double)(n_each * n));
  for (int i = 0; i < n; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
