// SPDX-License-Identifier: Apache-2.0
//
// Threads that free and resize what others allocated, all the time: makers hand blocks to takers
// through a small box each, so that every place of theirs has rows of several threads. Some blocks
// are forgotten. Beside them a small leak that grows, a large one that does not, and blocks freed
// only at the end.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIRS_N = 2, ROUNDS_N = 30, PER_ROUND_N = 40 };

static _Atomic(void *) boxes[PAIRS_N];
static atomic_int n_working = PAIRS_N;
static void *volatile forgotten;

__attribute__((noinline)) static void *block_new(size_t size)
{
  char *volatile block = malloc(size);
  memset(block, 1, size);
  return block;
}

static void pause_a_little(void)
{
  nanosleep(&(struct timespec){0, 15000000}, NULL);
}

static void hand_over(_Atomic(void *) *box, void *block)
{
  void *none = NULL;
  while (!atomic_compare_exchange_weak(box, &none, block)) {
    none = NULL;
    sched_yield();
  }
}

__attribute__((noinline)) static void leak_a_little(void)
{
  forgotten = malloc(16);
}

__attribute__((noinline)) static void leak_a_lot(void)
{
  forgotten = malloc(16 << 20);
}

static void *make(void *box)
{
  for (int round = 0; round < ROUNDS_N; round++) {
    for (int i = 0; i < PER_ROUND_N; i++)
      hand_over(box, block_new(100 + (size_t)i * 37));
    forgotten = block_new(500); // by its own thread, in the place whose blocks others free
    if (round % PAIRS_N == (box == &boxes[1])) // by turns: one pair may be done long before
      leak_a_little();
    if (box == &boxes[0] && round == ROUNDS_N / 2)
      leak_a_lot();
    pause_a_little();
  }
  atomic_fetch_sub(&n_working, 1);
  return NULL;
}

static void *take(void *box)
{
  for (int n = 0;; n++) {
    void *block;
    while (!(block = atomic_exchange((_Atomic(void *) *)box, NULL))) {
      if (!atomic_load(&n_working))
        return NULL;
      sched_yield();
    }
    if (n % 8 == 3)
      block = realloc(block, 3000);
    if (n % 16 == 11)
      forgotten = block;
    else
      free(block);
  }
}

int main(void)
{
  pthread_t threads[2 * PAIRS_N];
  char *volatile held = malloc(50000);
  for (int i = 0; i < PAIRS_N; i++) {
    pthread_create(&threads[2 * i], NULL, make, &boxes[i]);
    pthread_create(&threads[2 * i + 1], NULL, take, &boxes[i]);
  }
  for (int i = 0; i < 2 * PAIRS_N; i++)
    pthread_join(threads[i], NULL);
  free(held);
  return 0;
}
