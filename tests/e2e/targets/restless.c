// SPDX-License-Identifier: Apache-2.0
//
// Threads that allocate without rest, check what they wrote, and are interrupted by a timer each in
// the middle of it.
//   restless N            until told to end
//   restless N exit MS    for so long, and then exits with 7 from one of its threads
//   restless N exec MS    every MS it becomes itself anew, three times, from one of its threads;
//                         then it exits with 8
//   restless N spawn      and starts /bin/true without rest, until told to end
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 64, TIMER_NS = 300000, WRONG_BLOCK = 101, WRONG_CHILD = 102, LIVES = 3 };

extern char **environ;
static atomic_bool stop;
static char **arguments;
static _Thread_local volatile unsigned n_handled;

static void handle(int signal)
{
  (void)signal;
  for (volatile int i = 0; i < 2000; i++) // long enough to be met here
    n_handled++;
}

static void start_timer(void)
{
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
  struct itimerspec often = {{0, TIMER_NS}, {0, TIMER_NS}};
  timer_t timer;
  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  if (!timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer))
    timer_settime(timer, 0, &often, NULL);
}

static void *work(void *arg)
{
  uint64_t x = (uint64_t)arg * 77 + 1;
  unsigned char *p[BLOCKS] = {0};
  size_t n[BLOCKS] = {0};
  start_timer();
  while (!stop) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    int i = x >> 40 & 63;
    size_t size = (x >> 50 & 1023) + 1;
    if (p[i] && (p[i][0] != (unsigned char)i || p[i][n[i] - 1] != (unsigned char)i))
      _exit(WRONG_BLOCK);
    if (p[i] && x >> 33 & 1) {
      p[i] = realloc(p[i], size);
    } else {
      free(p[i]);
      p[i] = malloc(size);
    }
    memset(p[i], i, n[i] = size);
  }
  for (int i = 0; i < BLOCKS; i++)
    free(p[i]);
  return NULL;
}

static void rest(long ms)
{
  struct timespec left = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&left, &left))
    ;
}

static void *exit_later(void *arg)
{
  rest((long)arg);
  exit(7);
}

static void *exec_later(void *arg)
{
  const char *told = getenv("LIVES");
  int lives = told ? (int)strtol(told, NULL, 10) : LIVES;
  char text[16];
  rest((long)arg);
  if (!lives)
    exit(8);
  snprintf(text, sizeof text, "%d", lives - 1);
  setenv("LIVES", text, 1);
  execv("/proc/self/exe", arguments);
  return NULL;
}

static void *spawn(void *arg)
{
  char *words[] = {"true", NULL};
  while (!stop) {
    pid_t pid;
    int status;
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ) ||
        waitpid(pid, &status, 0) != pid || status)
      _exit(WRONG_CHILD);
  }
  return arg;
}

int main(int argc, char **argv)
{
  enum { MOST = 64 };
  pthread_t threads[MOST], other = 0;
  long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
  const char *then = argc > 2 ? argv[2] : "";
  void *ms = (void *)(argc > 3 ? strtol(argv[3], NULL, 10) : 0);
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  char c;
  sigaction(SIGUSR1, &action, NULL);
  arguments = argv;
  for (long i = 0; i < n; i++)
    pthread_create(&threads[i], NULL, work, (void *)i);
  if (*then)
    pthread_create(&other, NULL,
                   !strcmp(then, "exit")   ? exit_later
                   : !strcmp(then, "exec") ? exec_later
                                           : spawn,
                   ms);
  if (!getenv("LIVES"))
    write(1, "ready\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q')
    write(1, "ok\n", 3);
  stop = true;
  for (long i = 0; i < n; i++)
    pthread_join(threads[i], NULL);
  if (other)
    pthread_join(other, NULL);
  return 0;
}
