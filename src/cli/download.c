// SPDX-License-Identifier: Apache-2.0
//
// The line is shown once a download has run for half a second, and rewritten ten times a second at
// most. SIGINT is ours from the start of a download to its end, unless it is ignored.
#define _GNU_SOURCE
#include "cli/download.h"

#include "base/units.h"
#include "base/utf8.h"
#include "cli/progress.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 500, EACH_MS = 100 };

static struct {
  const char *file;
  bool is_shown;
  int64_t next_ms; // when to write the line again
  struct sigaction before;
} now;
static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int signal)
{
  is_interrupted = signal;
}

static int64_t clock_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void begin(void *context, const char *file)
{
  tide_progress_stop(); // one line at a time
  now.file = file;
  now.is_shown = false;
  now.next_ms = clock_ms() + FIRST_MS;
  struct sigaction ours = {.sa_handler = on_interrupt}; // no SA_RESTART: waiting is to end
  sigaction(SIGINT, NULL, &now.before);
  if (now.before.sa_handler != SIG_IGN)
    sigaction(SIGINT, &ours, NULL);
}

static void show_bytes(uint64_t n_bytes, uint64_t total_bytes)
{
  char done[TIDE_UNITS_MAX], total[TIDE_UNITS_MAX];
  char *file = tide_utf8_clean(now.file, true);
  fprintf(stderr, "\r\033[Ktidemark: debug info of %.40s: ", file);
  free(file);
  tide_units_bytes(done, tide_exact((int64_t)n_bytes), TIDE_STYLE_PLAIN);
  if (total_bytes)
    fprintf(stderr, "%s of %s", done,
            tide_units_bytes(total, tide_exact((int64_t)total_bytes), TIDE_STYLE_PLAIN));
  else if (n_bytes)
    fputs(done, stderr);
  else
    fputs("asking", stderr);
  fputs(" (Ctrl-C: go on without)", stderr);
  fflush(stderr);
  now.is_shown = true;
}

static bool step(void *context, uint64_t n_bytes, uint64_t total_bytes)
{
  int64_t at = clock_ms();
  if (at >= now.next_ms && isatty(STDERR_FILENO)) {
    show_bytes(n_bytes, total_bytes);
    now.next_ms = at + EACH_MS;
  }
  return !is_interrupted;
}

static void end(void *context)
{
  if (now.is_shown)
    fputs("\r\033[K", stderr);
  fflush(stderr);
  sigaction(SIGINT, &now.before, NULL);
}

const struct tide_symbol_watch *tide_download_watch(void)
{
  static const struct tide_symbol_watch watch = {.begin = begin, .step = step, .end = end};
  return &watch;
}
