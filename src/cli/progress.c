// SPDX-License-Identifier: Apache-2.0
//
// A thread draws, since what takes long (unpacking debug info) does not come back to say so. It
// lives from the first word to the stop, and is started only where there is a terminal.
#define _GNU_SOURCE
#include "cli/progress.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 1000, REDRAW_MS = 100, TEXT_MAX = 256, WIDTH_DEFAULT = 80 };

static struct {
  pthread_t thread;
  bool is_running; // the caller's
  // The rest is shared, by the lock.
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool is_over;
  char text[TEXT_MAX];
} line = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static _Thread_local bool is_muted;

static bool can_draw(void)
{
  const char *term = getenv("TERM");
  return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

static size_t width(void)
{
  struct winsize size = {0};
  bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : WIDTH_DEFAULT;
}

static void put_line(const char *text)
{
  (void)!write(STDERR_FILENO, text, strlen(text));
}

static void draw(const char *text)
{
  TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(text, false);
  TIDE_CLEANUP_FREE char *drawn = tide_sprintf("\r%.*s\033[K", (int)width() - 1, clean);
  put_line(drawn);
}

// Until ms have passed, or true: it is over.
static bool is_over_after(unsigned ms)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += ms % 1000 * 1000000L;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  while (!line.is_over && pthread_cond_timedwait(&line.wake, &line.lock, &until) == 0)
    continue;
  return line.is_over;
}

static void *draw_until_over(void *context)
{
  char drawn[TEXT_MAX] = "";
  pthread_mutex_lock(&line.lock);
  for (unsigned ms = PATIENCE_MS; !is_over_after(ms); ms = REDRAW_MS) {
    if (strcmp(drawn, line.text) == 0)
      continue;
    memcpy(drawn, line.text, sizeof drawn);
    draw(drawn);
  }
  pthread_mutex_unlock(&line.lock);
  if (drawn[0])
    put_line("\r\033[K");
  return NULL;
}

void tide_progress_say(const char *format, ...)
{
  if (is_muted || (!line.is_running && !can_draw()))
    return;
  va_list args;
  va_start(args, format);
  pthread_mutex_lock(&line.lock);
  vsnprintf(line.text, sizeof line.text, format, args);
  line.is_over = false;
  pthread_mutex_unlock(&line.lock);
  va_end(args);
  if (!line.is_running)
    line.is_running = pthread_create(&line.thread, NULL, draw_until_over, NULL) == 0;
}

void tide_progress_stop(void)
{
  if (is_muted || !line.is_running)
    return;
  pthread_mutex_lock(&line.lock);
  line.is_over = true;
  pthread_cond_signal(&line.wake);
  pthread_mutex_unlock(&line.lock);
  pthread_join(line.thread, NULL);
  line.is_running = false;
}

void tide_progress_mute(void)
{
  is_muted = true;
}
