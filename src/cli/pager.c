// SPDX-License-Identifier: Apache-2.0
//
// Everything is collected first, so a page that fits is written as ever and no process is started
// for it. The pager is a shell command, as with other tools, and gets LESS=FRX (quit if it fits,
// keep colours, leave the text on the screen) and LV=-c unless the user has set them. While it
// runs, interrupts are its own: ^C in less ends a search, not us.
#include "cli/pager.h"

#include "cli/progress.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

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
