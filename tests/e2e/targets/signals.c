// SPDX-License-Identifier: Apache-2.0
//
// Threads that wait for ever in calls that a signal must end. Each is sent one again and again, and
// the next only when it has said that the last has ended its call. Those that take too long are
// printed at the end.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 5000, STEP_US = 100 };

static atomic_bool stop;

struct waiter {
  const char *name;
  long (*wait)(const sigset_t *none);
  pthread_t thread;
  atomic_uint sent, handled, ended, wrong;
};

static _Thread_local struct waiter *self;

static void handle(int signal)
{
  (void)signal;
  self->handled++;
}

// The signal is blocked but for the call itself, so that none comes between.
static long w_epoll_pwait(const sigset_t *none)
{
  static int fd;
  struct epoll_event e;
  if (!fd)
    fd = epoll_create1(0);
  return epoll_pwait(fd, &e, 1, -1, none);
}
static long w_ppoll(const sigset_t *none)
{
  return ppoll(NULL, 0, NULL, none);
}
static long w_sigsuspend(const sigset_t *none)
{
  return sigsuspend(none);
}

static struct waiter all[] = {
    {.name = "epoll_pwait", .wait = w_epoll_pwait},
    {.name = "ppoll", .wait = w_ppoll},
    {.name = "sigsuspend", .wait = w_sigsuspend},
};
enum { N = sizeof all / sizeof *all };

static void *run(void *arg)
{
  sigset_t none;
  sigemptyset(&none);
  self = arg;
  while (!stop) {
    unsigned before = self->handled;
    long got = self->wait(&none);
    if (got != -1 || errno != EINTR || self->handled == before)
      self->wrong++;
    free(malloc(100));
    self->ended++;
  }
  return NULL;
}

static bool send_and_see(struct waiter *w)
{
  unsigned ended = w->ended;
  pthread_kill(w->thread, SIGUSR1);
  w->sent++;
  for (int i = 0; i < PATIENCE * 1000 / STEP_US; i++) {
    if (w->ended != ended)
      return true;
    usleep(STEP_US);
  }
  return false;
}

static void *pester(void *arg)
{
  struct waiter *w = arg;
  bool ok = true;
  while (!stop && ok)
    ok = send_and_see(w);
  if (!ok)
    w->wrong += 1000000;
  return NULL;
}

int main(void)
{
  pthread_t pesterers[N];
  sigset_t usr1;
  char c;
  struct sigaction action = {.sa_handler = handle};
  sigaction(SIGUSR1, &action, NULL);
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigprocmask(SIG_BLOCK, &usr1, NULL);
  for (int i = 0; i < N; i++)
    pthread_create(&all[i].thread, NULL, run, &all[i]);
  for (int i = 0; i < N; i++)
    pthread_create(&pesterers[i], NULL, pester, &all[i]);
  write(1, "ready\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q')
    write(1, "ok\n", 3);
  stop = true;
  int bad = 0;
  for (int i = 0; i < N; i++) {
    struct waiter *w = &all[i];
    pthread_join(pesterers[i], NULL);
    bad |= w->wrong || w->handled != w->sent;
    printf("%s: %u sent, %u handled, %u calls ended, %u of them otherwise\n", w->name, w->sent,
           w->handled, w->ended, w->wrong);
  }
  fflush(stdout);
  _exit(bad);
}
