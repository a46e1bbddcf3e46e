// SPDX-License-Identifier: Apache-2.0
//
// fork, a pipe to wait at, a pipe to report on, exec. Called while the process has one thread, so
// the child may use libc between fork and exec.
#define _GNU_SOURCE
#include "supervise/spawn.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GIVEN_UP 125

static void close_both(const int fds[2])
{
  if (fds[0] >= 0)
    close(fds[0]);
  if (fds[1] >= 0)
    close(fds[1]);
}

static ssize_t read_retrying(int fd, void *to, size_t n)
{
  ssize_t got;
  do
    got = read(fd, to, n);
  while (got < 0 && errno == EINTR);
  return got;
}

static _Noreturn void child(const struct tide_spawn_options *options, const int go[2],
                            const int error[2])
{
  char byte;
  close(go[1]); // or our own end would keep the pipe open
  if (read_retrying(go[0], &byte, 1) != 1)
    _exit(GIVEN_UP);
  // None of the three is below its own number unless it is that one, so none is lost on the way.
  for (int i = 0; options->stdio && i < 3; i++)
    if (options->stdio[i] != i && dup2(options->stdio[i], i) < 0)
      _exit(GIVEN_UP);
  if (options->ignore_sigchld)
    signal(SIGCHLD, SIG_IGN);
  sigprocmask(SIG_SETMASK, options->mask, NULL);
  if (options->is_traced) // where only descendants may be: those of its parent
    prctl(PR_SET_PTRACER, (unsigned long)getppid());
  execvpe(options->argv[0], options->argv, byte ? options->bare : options->environment);
  int failure = errno;
  ssize_t written = write(error[1], &failure, sizeof failure);
  _exit(written == sizeof failure ? 0 : GIVEN_UP);
}

enum tide_err tide_spawn_start(const struct tide_spawn_options *options,
                               struct tide_spawn *ret_spawn, struct tide_diag *diag)
{
  int go[2] = {-1, -1}, error[2] = {-1, -1};
  pid_t pid = -1;
  if (!pipe2(go, O_CLOEXEC) && !pipe2(error, O_CLOEXEC))
    pid = fork();
  if (pid == 0)
    child(options, go, error);
  if (pid < 0) {
    enum tide_err err = tide_fail_errno(diag, "cannot start a process");
    close_both(go);
    close_both(error);
    return err;
  }
  close(go[0]);
  close(error[1]);
  *ret_spawn = (struct tide_spawn){pid, go[1], error[0]};
  return TIDE_ERR_OK;
}

static void reap(const struct tide_spawn *spawn)
{
  while (waitpid(spawn->pid, NULL, 0) < 0 && errno == EINTR)
    ;
}

bool tide_spawn_go(struct tide_spawn *spawn, bool is_bare, int *ret_errno)
{
  const char byte = is_bare;
  int failure = 0;
  ssize_t written = write(spawn->go_fd, &byte, 1);
  close(spawn->go_fd);
  ssize_t got = written == 1 ? read_retrying(spawn->error_fd, &failure, sizeof failure) : 0;
  close(spawn->error_fd);
  if (written == 1 && got == 0) // closed by a successful exec, or by its death: wait will tell
    return true;
  reap(spawn);
  *ret_errno = failure ? failure : EIO;
  return false;
}

void tide_spawn_cancel(struct tide_spawn *spawn)
{
  close(spawn->go_fd);
  close(spawn->error_fd);
  reap(spawn);
}

static bool is_variable(const char *entry, const char *name)
{
  size_t n = strlen(name);
  return !strncmp(entry, name, n) && entry[n] == '=';
}

// The variable with our value before or after the user's, if there is one.
static char *joined(const char *name, const char *first, const char *separator, const char *second)
{
  bool both = first && *first && second && *second;
  return tide_sprintf("%s=%s%s%s", name, first ? first : "", both ? separator : "",
                      second ? second : "");
}

char **tide_spawn_environment(char *const *environment, const char *library, const char *options)
{
  size_t n = 0;
  while (environment[n])
    n++;
  char **out = tide_alloc_array(n + 3, sizeof *out);
  const char *preload = NULL, *user_options = NULL;
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (is_variable(environment[i], "LD_PRELOAD") && library)
      preload = strchr(environment[i], '=') + 1;
    else if (is_variable(environment[i], "TIDEMARK_OPTIONS"))
      user_options = strchr(environment[i], '=') + 1;
    else
      out[kept++] = tide_strdup(environment[i]);
  }
  if (library) {
    out[kept++] = joined("LD_PRELOAD", library, ":", preload);
    out[kept++] = joined("TIDEMARK_OPTIONS", user_options, ",", options);
  } else if (user_options) {
    out[kept++] = joined("TIDEMARK_OPTIONS", user_options, "", "");
  }
  return out;
}

void tide_spawn_environment_free(char **environment)
{
  for (size_t i = 0; environment && environment[i]; i++)
    free(environment[i]);
  free(environment);
}
