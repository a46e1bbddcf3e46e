// SPDX-License-Identifier: Apache-2.0
//
// See errand.h.
#define _GNU_SOURCE
#include "serve/errand.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- the fork ----

// A connection that we hang up on would stay open by it.
static void leave_sockets(void)
{
  long n = sysconf(_SC_OPEN_MAX);
  for (int fd = STDERR_FILENO + 1; fd < (n > 0 && n < 65536 ? n : 65536); fd++) {
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
      close(fd);
  }
}

// Signals end it, whatever they do to us.
static void hear_signals(void)
{
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  sigset_t none;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    signal(numbers[i], SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool write_all(int fd, const struct tide_buf *bytes)
{
  for (size_t at = 0; at < bytes->n;) {
    ssize_t n = write(fd, bytes->data + at, bytes->n - at);
    if (n < 0 && errno != EINTR)
      return false;
    at += n > 0 ? (size_t)n : 0;
  }
  return true;
}

static _Noreturn void run(int fd, pid_t parent, void (*work)(void *context, struct tide_buf *out),
                          void *context)
{
  struct tide_buf out = {0};
  hear_signals();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) // it ended before that
    _exit(EXIT_FAILURE);
  leave_sockets();
  work(context, &out);
  _exit(write_all(fd, &out) ? EXIT_SUCCESS : EXIT_FAILURE);
}

// ---- we ----

bool tide_errand_start(struct tide_errand *errand,
                       void (*work)(void *context, struct tide_buf *out), void *context)
{
  pid_t parent = getpid();
  int fd = memfd_create("tidemark errand", MFD_CLOEXEC);
  pid_t pid = fd < 0 ? -1 : fork();
  if (pid == 0)
    run(fd, parent, work, context);
  if (pid < 0) {
    if (fd >= 0)
      close(fd);
    return false;
  }
  *errand = (struct tide_errand){pid, fd};
  return true;
}

static bool read_all(int fd, struct tide_buf *ret_bytes)
{
  struct stat status;
  if (fstat(fd, &status))
    return false;
  size_t n_all = (size_t)status.st_size;
  uint8_t *to = tide_buf_extend(ret_bytes, n_all);
  for (size_t at = 0; at < n_all;) {
    ssize_t n = pread(fd, to + at, n_all - at, (off_t)at);
    if (n == 0 || (n < 0 && errno != EINTR))
      return false;
    at += n > 0 ? (size_t)n : 0;
  }
  return true;
}

static void end_errand(struct tide_errand *errand)
{
  close(errand->fd);
  *errand = (struct tide_errand){0};
}

enum tide_errand_state tide_errand_look(struct tide_errand *errand, struct tide_buf *ret_bytes)
{
  int status = 0;
  pid_t ended = waitpid(errand->pid, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR))
    return TIDE_ERRAND_RUNS;
  *ret_bytes = (struct tide_buf){0};
  bool is_done = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS &&
                 read_all(errand->fd, ret_bytes);
  if (!is_done)
    tide_buf_done(ret_bytes);
  end_errand(errand);
  return is_done ? TIDE_ERRAND_DONE : TIDE_ERRAND_FAILED;
}

void tide_errand_stop(struct tide_errand *errand)
{
  if (!errand->pid)
    return;
  kill(errand->pid, SIGKILL);
  while (waitpid(errand->pid, NULL, 0) < 0 && errno == EINTR)
    continue;
  end_errand(errand);
}
