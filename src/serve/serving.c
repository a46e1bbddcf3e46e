// SPDX-License-Identifier: Apache-2.0
//
// See serving.h. Of a process that does nothing else the signals are blocked but while we wait, so
// that none is missed between a look at the flag and the wait; while an answer is being made they
// are let through and end the process.
#define _GNU_SOURCE
#include "serve/serving.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 1000, WANTED_MS = 5000 }; // a page that shows a recording asks every second

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

// What is kept from round to round. Times are those of now_ms().
struct rounds {
  struct tide_server *server;
  struct tide_routes *routes;
  uint64_t look_ms;  // when to look at the sources next
  uint64_t asked_ms; // when somebody last asked, or at the start
  uint64_t n_asked;
};

static struct rounds rounds_of(struct tide_server *server, struct tide_routes *routes)
{
  return (struct rounds){server, routes, now_ms(), now_ms(), tide_server_n_asked(server)};
}

static bool await(const struct rounds *rounds, const sigset_t *mask)
{
  uint64_t now = now_ms();
  int wait_ms = rounds->look_ms > now ? (int)(rounds->look_ms - now) : 0;
  return tide_server_await(rounds->server, wait_ms, mask);
}

// Whoever is woken has something to look at. True: it looked.
static bool turn(struct rounds *rounds, bool is_woken)
{
  uint64_t now = now_ms();
  bool looks = is_woken || now >= rounds->look_ms;
  tide_server_turn(rounds->server);
  if (tide_server_n_asked(rounds->server) != rounds->n_asked)
    rounds->asked_ms = now;
  rounds->n_asked = tide_server_n_asked(rounds->server);
  if (!looks)
    return false;
  tide_routes_look(rounds->routes, now - rounds->asked_ms < WANTED_MS);
  rounds->look_ms = now_ms() + LOOK_MS;
  return true;
}

// While an answer is being made, signals end the process.
static bool turn_interruptibly(struct rounds *rounds, const sigset_t *blocked)
{
  sigset_t before;
  busy = 1;
  sigprocmask(SIG_UNBLOCK, blocked, &before);
  bool looked = turn(rounds, false);
  sigprocmask(SIG_SETMASK, &before, NULL);
  busy = 0;
  return looked;
}

void tide_serving_run(struct tide_server *server, struct tide_routes *routes, unsigned linger_s)
{
  sigset_t ours, before, unblocked;
  struct rounds rounds = rounds_of(server, routes);
  fill(&ours);
  sigprocmask(SIG_BLOCK, &ours, &before);
  unblocked = before;
  sigdelset(&unblocked, SIGINT); // whoever started us in the background may have blocked them
  sigdelset(&unblocked, SIGTERM);
  sigdelset(&unblocked, SIGHUP);
  while (!stop) {
    await(&rounds, &unblocked);
    if (stop)
      break;
    if (turn_interruptibly(&rounds, &ours) && tide_routes_is_live(routes))
      rounds.asked_ms = now_ms();
    if (linger_s && now_ms() - rounds.asked_ms > (uint64_t)linger_s * 1000)
      break;
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
}

void tide_serving_beside(struct tide_server *server, struct tide_routes *routes,
                         bool (*is_over)(void *context), void *context)
{
  struct rounds rounds = rounds_of(server, routes);
  while (!is_over(context))
    turn(&rounds, await(&rounds, NULL));
}
