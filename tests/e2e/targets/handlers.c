// SPDX-License-Identifier: Apache-2.0
//
// handlers N: N threads, in which a handler allocates, waits, allocates more and frees all of it;
// every other one has it on a stack of its own. `h`: all are sent the signal, and wait in their
// handlers. `g`: they go on and return.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 10, BLOCK_BYTES = 100, MOST = 64, STACK_BYTES = 1 << 16 };

static sem_t inside, gate, outside;

__attribute__((noipa)) static char *block(int fill)
{
  char *p = malloc(BLOCK_BYTES);
  memset(p, fill, BLOCK_BYTES);
  return p;
}

static void wait_for(sem_t *sem)
{
  while (sem_wait(sem) && errno == EINTR)
    ;
}

static void handle(int signal)
{
  char *p[2 * BLOCKS];
  for (int i = 0; i < BLOCKS; i++)
    p[i] = block(i);
  sem_post(&inside);
  wait_for(&gate);
  for (int i = BLOCKS; i < 2 * BLOCKS; i++)
    p[i] = block(i);
  for (int i = 0; i < 2 * BLOCKS; i++) {
    if (p[i][0] != i || p[i][BLOCK_BYTES - 1] != i)
      _exit(100 + signal);
    free(p[i]);
  }
  sem_post(&outside);
}

static void *rest(void *arg)
{
  stack_t own = {.ss_size = STACK_BYTES};
  if ((long)arg % 2) {
    own.ss_sp = malloc(STACK_BYTES);
    sigaltstack(&own, NULL);
  }
  sem_post(&outside);
  for (;;)
    pause();
  return NULL;
}

int main(int argc, char **argv)
{
  long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
  pthread_t threads[MOST];
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
  char c;
  sigaction(SIGUSR1, &action, NULL);
  for (long i = 0; i < n; i++)
    pthread_create(&threads[i], NULL, rest, (void *)i);
  for (long i = 0; i < n; i++)
    wait_for(&outside);
  write(1, "ready\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q') {
    for (long i = 0; i < n; i++)
      if (c == 'h')
        pthread_kill(threads[i], SIGUSR1);
      else
        sem_post(&gate);
    for (long i = 0; i < n; i++)
      wait_for(c == 'h' ? &inside : &outside);
    write(1, "ok\n", 3);
  }
  return 0;
}
