// SPDX-License-Identifier: Apache-2.0
//
// Programs that malloc_trim(0) is called in from outside, by the name in argv[1]. Each says "ready"
// and its pid, goes on until its standard input has something to read, and says "sound", or what
// was not as it should be.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 400, BYTES = 3000, THREADS = 3 };

static atomic_bool is_over;
static _Atomic(const char *) wrong;

static bool is_asked(void)
{
  return poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, 0) > 0;
}

static void say_ready(void)
{
  printf("ready %d\n", getpid());
  fflush(stdout);
}

// Blocks come and go, and each holds what was written into it.
static void *churn(void *arg)
{
  static _Thread_local unsigned char *blocks[BLOCKS];
  uint32_t seed = (uint32_t)(uintptr_t)arg + 1;
  while (!is_over) {
    seed = seed * 1664525 + 1013904223;
    unsigned i = seed >> 8 & 255, n = 1 + (seed >> 16) % BYTES;
    if (blocks[i] && (blocks[i][0] != (unsigned char)i || blocks[i][1] != (unsigned char)i))
      wrong = "a block is not what it was";
    free(blocks[i]);
    blocks[i] = memset(malloc(n + 2), (int)i, n + 2);
  }
  return NULL;
}

// Values in registers of floating point live across the call: nothing else keeps them.
static double wait_with_numbers(double a, double b, int *ret_status)
{
  double c = a * 1.5, d = b * 2.5;
  __asm__ volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d));
#ifdef __x86_64__
  long status;
  register struct timespec *time __asm__("rdi") = &(struct timespec){.tv_nsec = 3000000};
  register void *rest __asm__("rsi") = NULL;
  __asm__ volatile("syscall" // nanosleep
                   : "=a"(status), "+x"(a), "+x"(b), "+x"(c), "+x"(d)
                   : "a"(35), "r"(time), "r"(rest)
                   : "rcx", "r11", "memory");
  *ret_status = (int)status;
#else
  *ret_status = 0;
#endif
  return a + b + c + d;
}

// A wait that nobody's signal ends must not fail.
static void run_busy(void)
{
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, churn, (void *)i);
  say_ready();
  while (!is_asked()) {
    int status = 0;
    if (wait_with_numbers(1, 2, &status) != 9.5) // exact: few bits
      wrong = "a number is not what it was";
    if (status)
      wrong = "a wait failed";
    if (poll(NULL, 0, 2) || usleep(1000))
      wrong = "a wait of libc failed";
  }
  is_over = true;
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}

static atomic_long n_signals;
static void on_signal(int number)
{
  (void)number;
  n_signals++;
}

// Signals all the time, some of them while malloc_trim(0) runs.
static void run_signals(void)
{
  static char *blocks[20000];
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 20000}, {0, 20000}}, NULL);
  say_ready();
  while (!is_asked()) {
    for (int i = 0; i < 20000; i++)
      blocks[i] = memset(malloc(1000), i, 1000);
    for (int i = 0; i < 20000; i++) {
      if (blocks[i][999] != (char)i)
        wrong = "a block is not what it was";
      if (i % 9)
        free(blocks[i]);
    }
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    for (int i = 0; i < 20000; i += 9)
      free(blocks[i]);
  }
  if (!n_signals)
    wrong = "no signal came";
}

// It never waits: a poll() of no time at all may be met in the middle, as if it did.
static void run_spins(void)
{
  char c;
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  say_ready();
  while (read(STDIN_FILENO, &c, 1) < 0)
    ;
}

static void sleep_in_handler(int number)
{
  (void)number;
  say_ready();
  poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, -1);
}

// It waits in a handler, which may have interrupted anything.
static void run_handler(void)
{
  signal(SIGUSR1, sleep_in_handler);
  raise(SIGUSR1);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } all[] = {
      {"busy", run_busy}, {"signals", run_signals}, {"spins", run_spins}, {"handler", run_handler}};
  for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
    if (!strcmp(argv[1], all[i].name))
      all[i].run();
  puts(wrong ? wrong : "sound");
  return wrong ? 1 : 0;
}
