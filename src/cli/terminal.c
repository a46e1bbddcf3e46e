// SPDX-License-Identifier: Apache-2.0
//
// The environment's say in how things look, lines that come and go, and a pager.
#define _GNU_SOURCE
#include "cli/terminal.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/hint_words.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// ---- width, characters, colour ----

enum { WIDTH_DEFAULT = 80, WIDTH_MIN = 40, WIDTH_MAX = 400 };

static size_t width_of(FILE *stream)
{
  struct winsize size = {0};
  const char *columns = getenv("COLUMNS");
  long width = 0;
  if (isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0)
    width = size.ws_col;
  if (width <= 0 && columns)
    width = strtol(columns, NULL, 10);
  if (width <= 0)
    width = WIDTH_DEFAULT;
  return (size_t)(width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width);
}

static bool is_set(const char *variable)
{
  const char *value = getenv(variable);
  return value && *value && strcmp(value, "0") != 0;
}

static bool colored(FILE *stream, enum tide_color asked)
{
  const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
  if (asked != TIDE_COLOR_AUTO)
    return asked == TIDE_COLOR_ALWAYS;
  if (no && *no)
    return false;
  if (is_set("CLICOLOR_FORCE"))
    return true;
  return isatty(fileno(stream)) && term && strcmp(term, "dumb") != 0;
}

static bool speaks_utf8(void)
{
  const char *codeset = nl_langinfo(CODESET);
  return strcasecmp(codeset, "UTF-8") == 0 || strcasecmp(codeset, "UTF8") == 0;
}

struct tide_screen tide_terminal_screen(struct tide_sink *sink, FILE *stream,
                                        const struct tide_arguments *arguments)
{
  return (struct tide_screen){
      .sink = sink,
      .width = width_of(stream),
      .utf8 = speaks_utf8(),
      .color = colored(stream, (enum tide_color)arguments->color),
      .units = arguments->events ? TIDE_UNITS_WEIGHT : (enum tide_units)arguments->units,
      .hints = tide_cli_hint_words,
  };
}

void tide_say(const char *format, ...)
{
  struct tide_buf text = {0};
  va_list args;
  va_start(args, format);
  char *line = NULL;
  if (vasprintf(&line, format, args) >= 0) {
    TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(line, speaks_utf8());
    tide_buf_printf(&text, "tidemark: %s\n", clean);
    tide_progress_stop();
    fwrite(text.data, 1, text.n, stderr); // one write: lines of several processes stay whole
  }
  va_end(args);
  free(line);
  tide_buf_done(&text);
}

int tide_cmd_failed(enum tide_err err, const struct tide_diag *diag)
{
  TIDE_CLEANUP_FREE char *words = tide_cli_failure_words(err, diag);
  tide_say("%s", words);
  return err == TIDE_ERR_USAGE ? 2 : 1;
}

// ---- progress ----
//
// A thread draws, since what takes long (unpacking debug info) does not come back to say so. It
// lives from the first word to the stop, and is started only where there is a terminal.

enum { PATIENCE_MS = 1000, REDRAW_MS = 100, TEXT_MAX = 256 };

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

static size_t progress_width(void)
{
  struct winsize size = {0};
  bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : WIDTH_DEFAULT;
}

static void put_line(const char *text)
{
  (void)!write(STDERR_FILENO, text, strlen(text));
}

static void draw_progress(const char *text)
{
  TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(text, false);
  TIDE_CLEANUP_FREE char *drawn = tide_sprintf("\r%.*s\033[K", (int)progress_width() - 1, clean);
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
    draw_progress(drawn);
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

// ---- downloads ----
//
// The line is shown once a download has run for half a second, and rewritten ten times a second at
// most. SIGINT is ours from the start of a download to its download_end, unless it is ignored.

enum { FIRST_MS = 500, EACH_MS = 100 };

static struct {
  const char *file;
  bool is_shown;
  int64_t next_ms; // when to write the line again
  struct sigaction before;
} now;
static volatile sig_atomic_t is_interrupted;

static void on_download_interrupt(int signal)
{
  is_interrupted = signal;
}

static int64_t clock_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void download_begin(void *context, const char *file)
{
  tide_progress_stop(); // one line at a time
  now.file = file;
  now.is_shown = false;
  now.next_ms = clock_ms() + FIRST_MS;
  struct sigaction ours = {.sa_handler = on_download_interrupt}; // no SA_RESTART: waiting is to end
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

static bool download_step(void *context, uint64_t n_bytes, uint64_t total_bytes)
{
  int64_t at = clock_ms();
  if (at >= now.next_ms && isatty(STDERR_FILENO)) {
    show_bytes(n_bytes, total_bytes);
    now.next_ms = at + EACH_MS;
  }
  return !is_interrupted;
}

static void download_end(void *context)
{
  if (now.is_shown)
    fputs("\r\033[K", stderr);
  fflush(stderr);
  sigaction(SIGINT, &now.before, NULL);
}

const struct tide_symbol_watch *tide_download_watch(void)
{
  static const struct tide_symbol_watch watch = {
      .begin = download_begin, .step = download_step, .end = download_end};
  return &watch;
}

// ---- the pager ----
//
// Everything is collected first, so a page that fits is written as ever and no process is started
// for it. The pager is a shell command, as with other tools, and gets LESS=FRX (quit if it fits,
// keep colours, leave the text on the screen) and LV=-c unless the user has set them. While it
// runs, interrupts are its own: ^C in less ends a search, not us.

enum { ROWS_DEFAULT = 24, NOT_FOUND = 127, NOT_EXECUTABLE = 126 };

// Without a word from the shell where there is no less.
static const char less_if_there[] = "command -v less >/dev/null || exit 127; exec less";

// NULL: none wanted.
static const char *pager_command(void)
{
  const char *own = getenv("TIDEMARK_PAGER"), *general = getenv("PAGER"), *term = getenv("TERM");
  const char *command = own ? own : general ? general : less_if_there;
  bool dumb = !term || strcmp(term, "dumb") == 0;
  return dumb || !*command || strcmp(command, "cat") == 0 ? NULL : command;
}

void tide_pager_begin(struct tide_sink *sink, const struct tide_arguments *arguments)
{
  bool paged = !arguments->no_pager && isatty(STDOUT_FILENO) && pager_command();
  tide_sink_init(sink, paged ? NULL : stdout);
}

static size_t terminal_rows(void)
{
  struct winsize size = {0};
  bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row;
  return known ? size.ws_row : ROWS_DEFAULT;
}

static size_t count_lines(const struct tide_buf *text)
{
  size_t n = 0;
  for (size_t i = 0; i < text->n; i++)
    n += text->data[i] == '\n';
  return n;
}

// In the child: never returns.
static void become_pager(const char *command, int from)
{
  dup2(from, STDIN_FILENO);
  setenv("LESS", "FRX", 0);
  setenv("LV", "-c", 0);
  execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(NOT_FOUND);
}

static void write_all(int to, const struct tide_buf *text)
{
  size_t done = 0;
  while (done < text->n) {
    ssize_t n = write(to, text->data + done, text->n - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) // the reader has seen enough
      break;
    done += (size_t)n;
  }
}

// Whether the pager ran. How it ended is the user's business, not ours.
static bool page(const struct tide_buf *text)
{
  int ends[2], status = 0;
  if (pipe(ends) != 0)
    return false;
  pid_t pid = fork();
  if (pid == 0) {
    close(ends[1]);
    become_pager(pager_command(), ends[0]);
  }
  close(ends[0]);
  void (*on_interrupt)(int) = signal(SIGINT, SIG_IGN);
  void (*on_pipe)(int) = signal(SIGPIPE, SIG_IGN);
  if (pid > 0)
    write_all(ends[1], text);
  close(ends[1]);
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
    continue;
  signal(SIGINT, on_interrupt);
  signal(SIGPIPE, on_pipe);
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return pid > 0 && code != NOT_FOUND && code != NOT_EXECUTABLE;
}

enum tide_err tide_pager_finish(struct tide_sink *sink, const char *name, struct tide_diag *diag)
{
  bool collected = !sink->file;
  tide_progress_stop();
  enum tide_err err = TIDE_ERR_OK;
  // The shell's prompt takes a line, too.
  if (!collected || count_lines(&sink->buf) < terminal_rows() || !page(&sink->buf)) {
    sink->file = stdout;
    err = tide_sink_finish(sink, name, diag);
  }
  tide_sink_done(sink);
  return err;
}
