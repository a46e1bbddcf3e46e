// SPDX-License-Identifier: Apache-2.0
//
// Starting the command in two steps: a child that waits, so that its pid is known and everything
// can be made ready, and then its exec. Descriptors of ours are all close-on-exec; the child's
// signal mask and dispositions are put back to what the caller's were.
#pragma once
#include "base/err.h"
#include "model/model.h"

#include <signal.h>
#include <sys/types.h>

struct tide_spawn {
  pid_t pid;
  int go_fd, error_fd; // ours: written to let it go; read to learn that exec failed
};

struct tide_spawn_options {
  char *const *argv;        // as for execvp
  char *const *environment; // as for execve
  char *const *bare;        // the same without the recorder
  const sigset_t *mask;     // the signal mask the command shall have
  const int *stdio;         // three descriptors, for its input, output and errors; NULL: ours
  bool is_traced;           // by another child of ours, at its beginning
  bool ignore_sigchld;      // its SIGCHLD shall be ignored, as ours was
};

enum tide_err tide_spawn_start(const struct tide_spawn_options *options,
                               struct tide_spawn *ret_spawn, struct tide_diag *diag);
// Lets the child exec, with the environment or with the bare one. On failure it is gone and waited
// for, and *ret_errno is what exec said.
bool tide_spawn_go(struct tide_spawn *spawn, bool is_bare, int *ret_errno);
// Ends a child that was not let go.
void tide_spawn_cancel(struct tide_spawn *spawn);

// Our environment with the recorder in it: preloaded before anything the user preloads, told its
// options after any the user gave. library NULL: no preload, options only. Free with
// tide_spawn_environment_free().
char **tide_spawn_environment(char *const *environment, const char *library, const char *options);
void tide_spawn_environment_free(char **environment);
