// SPDX-License-Identifier: Apache-2.0
//
// See serving.h. The signals are blocked but while we wait, so that none is missed between a look
// at the flag and the wait; while an answer is being made they are let through and end the process.
#define _GNU_SOURCE
#include "serve/serving.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 1000 };

static volatile sig_atomic_t stop, busy;

static void on_signal(int number)
{
  if (busy)
    _exit(0);
  stop = 1;
}

static void fill(sigset_t *set)
{
  sigemptyset(set);
  sigaddset(set, SIGINT);
  sigaddset(set, SIGTERM);
  sigaddset(set, SIGHUP);
}

void tide_serving_hear_signals(void)
{
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {.sa_handler = on_signal};
  signal(SIGPIPE, SIG_IGN); // a browser that hangs up
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction before;
    sigaction(numbers[i], NULL, &before);
    if (before.sa_handler != SIG_IGN) // nohup, or a shell's background: as whoever started us wants
      sigaction(numbers[i], &action, NULL);
  }
}

static uint64_t now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void await(struct tide_server *server, uint64_t look_ms, const sigset_t *unblocked)
{
  uint64_t now = now_ms();
  int wait_ms = look_ms > now ? (int)(look_ms - now) : 0;
  tide_server_await(server, wait_ms, unblocked);
}

static void work(struct tide_server *server, struct tide_routes *routes, bool look,
                 const sigset_t *blocked)
{
  sigset_t before;
  busy = 1;
  sigprocmask(SIG_UNBLOCK, blocked, &before);
  tide_server_turn(server);
  if (look)
    tide_routes_look(routes);
  sigprocmask(SIG_SETMASK, &before, NULL);
  busy = 0;
}

static bool is_live(const struct tide_routes *routes)
{
  for (size_t i = 0; i < routes->n_exhibits; i++)
    if (tide_exhibit_is_live(&routes->exhibits[i]))
      return true;
  return false;
}

void tide_serving_run(struct tide_server *server, struct tide_routes *routes, unsigned linger_s)
{
  sigset_t ours, before, unblocked;
  uint64_t look_ms = now_ms() + LOOK_MS, asked_ms = now_ms(), n_asked = 0;
  fill(&ours);
  sigprocmask(SIG_BLOCK, &ours, &before);
  unblocked = before;
  sigdelset(&unblocked, SIGINT); // whoever started us in the background may have blocked them
  sigdelset(&unblocked, SIGTERM);
  sigdelset(&unblocked, SIGHUP);
  while (!stop) {
    await(server, look_ms, &unblocked);
    if (stop)
      break;
    bool look = now_ms() >= look_ms;
    work(server, routes, look, &ours);
    if (look)
      look_ms = now_ms() + LOOK_MS;
    if (tide_server_n_asked(server) != n_asked || (look && is_live(routes)))
      asked_ms = now_ms();
    n_asked = tide_server_n_asked(server);
    if (linger_s && now_ms() - asked_ms > (uint64_t)linger_s * 1000)
      break;
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
}
