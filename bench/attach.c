// SPDX-License-Identifier: Apache-2.0
//
// A process to attach to, which notices when it stands still: THREADS threads that allocate, look
// at the clock and sleep for 50 µs, over and over.
//
//   attach THREADS
//
// For each line on stdin it prints how many microseconds the longest round of any thread took since
// the line before. Without anybody who stops it, that is what the machine adds.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static uint64_t longest_ns;

static uint64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note(uint64_t ns)
{
  uint64_t before = __atomic_load_n(&longest_ns, __ATOMIC_RELAXED);
  while (ns > before && !__atomic_compare_exchange_n(&longest_ns, &before, ns, 1, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED))
    ;
}

static void *work(void *argument)
{
  prctl(PR_SET_TIMERSLACK, 1);
  for (uint64_t last = now_ns();;) {
    void *volatile block = malloc(100);
    free(block);
    nanosleep(&(struct timespec){0, 50000}, NULL);
    uint64_t now = now_ns();
    note(now - last);
    last = now;
  }
  return argument;
}

int main(int argc, char **argv)
{
  char line[16];
  for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1); i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0)
      abort();
  }
  while (read(0, line, 1) == 1) {
    uint64_t ns = __atomic_exchange_n(&longest_ns, 0, __ATOMIC_RELAXED);
    dprintf(1, "%.1f\n", (double)ns / 1e3);
  }
  return 0;
}
