// SPDX-License-Identifier: Apache-2.0
//
// A program whose stacks have every shape that trees treat apart: recursion, functions that call
// each other in turn, one function on several lines, threads that free what others allocated,
// resizes, blocks kept from the start and blocks that keep coming. It runs long enough for some
// snapshots.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS_N = 40, KEPT_N = 4096 };

static void *kept[KEPT_N], *handed[ROUNDS_N];
static int n_kept;

static void keep(void *block)
{
  if (n_kept < KEPT_N)
    kept[n_kept++] = block;
}

__attribute__((noinline)) static void *small(size_t size)
{
  char *volatile block = malloc(size);
  memset(block, 1, size);
  return block;
}

__attribute__((noinline)) static void descend(int depth)
{
  if (depth == 0)
    keep(small(48));
  else
    descend(depth - 1);
  __asm__ volatile("" ::: "memory");
}

static void pong(int depth);

__attribute__((noinline)) static void ping(int depth)
{
  if (depth == 0)
    keep(small(96));
  else
    pong(depth - 1);
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void pong(int depth)
{
  if (depth == 0)
    keep(small(160));
  else
    ping(depth - 1);
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void churn(int round)
{
  void *a = small(1000 + (size_t)round);
  void *b = small(2000);
  a = realloc(a, 5000);
  free(b);
  free(a);
}

__attribute__((noinline)) static void wave(int round)
{
  static void *held;
  if (round % 10 == 4)
    held = small(1 << 20);
  if (round % 10 == 8) {
    free(held);
    held = NULL;
  }
}

static void pause_a_little(void)
{
  struct timespec time = {0, 15000000};
  nanosleep(&time, NULL);
}

static void *produce(void *unused)
{
  for (int i = 0; i < ROUNDS_N; i++)
    __atomic_store_n(&handed[i], small(300 + (size_t)i), __ATOMIC_RELEASE);
  return unused;
}

static void *consume(void *unused)
{
  for (int i = 0; i < ROUNDS_N; i++) {
    void *block;
    while (!(block = __atomic_load_n(&handed[i], __ATOMIC_ACQUIRE)))
      pause_a_little();
    free(block);
  }
  return unused;
}

int main(void)
{
  pthread_t threads[2];
  keep(small(70000));
  pthread_create(&threads[0], NULL, produce, NULL);
  pthread_create(&threads[1], NULL, consume, NULL);
  for (int round = 0; round < ROUNDS_N; round++) {
    descend(round % 7);
    ping(round % 5);
    for (int i = 0; i < 5; i++)
      churn(round);
#ifdef MORE
    keep(small(4000));
#endif
    wave(round);
    pause_a_little();
  }
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  free(kept[0]);
  return 0;
}
