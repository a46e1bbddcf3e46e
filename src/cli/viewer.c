// SPDX-License-Identifier: Apache-2.0
//
// See viewer.h. posix_spawn, as this is called from a thread of a process with several.
#define _GNU_SOURCE
#include "cli/viewer.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "view/blame.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 16, MAX_WAIT_MS = 20000 };

// Names and files as the user said for the run.
static void fill_words(const struct tide_arguments *arguments, const char *path,
                       const char *words[MAX_WORDS])
{
  size_t n = 0;
  words[n++] = "tidemark";
  words[n++] = "view";
  words[n++] = "--detach";
  if (arguments->no_open)
    words[n++] = "--no-open";
  if (arguments->no_cache)
    words[n++] = "--no-cache";
  if (arguments->rules) {
    words[n++] = "--rules";
    words[n++] = arguments->rules;
  }
  if (arguments->blame >= 0) {
    words[n++] = "--blame";
    words[n++] = tide_blamed_words[arguments->blame];
  }
  if (arguments->debug_dirs) {
    words[n++] = "--debug-dir";
    words[n++] = arguments->debug_dirs; // colons between them are understood
  }
  words[n++] = "--";
  words[n++] = path;
  words[n] = NULL;
}

static bool spawn(const char *const *words, int out_fd, pid_t *ret_pid)
{
  extern char **environ;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none, piped;
  sigemptyset(&none);
  sigemptyset(&piped);
  sigaddset(&piped, SIGPIPE);
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &piped);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  errno = posix_spawn(ret_pid, "/proc/self/exe", &files, &attributes,
                      (char *const *)(uintptr_t)words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return errno == 0;
}

void tide_viewer_start(struct tide_viewer *viewer, const char *path)
{
  const char *words[MAX_WORDS];
  int ends[2];
  if (viewer->pid)
    return;
  viewer->pid = -1;
  fill_words(viewer->arguments, path, words);
  if (pipe2(ends, O_CLOEXEC))
    return;
  pid_t pid = 0;
  bool started = spawn(words, ends[1], &pid);
  close(ends[1]);
  if (!started) {
    close(ends[0]);
    return;
  }
  viewer->url_fd = ends[0];
  viewer->pid = pid;
}

// Until the pipe is closed, which it is when the viewer went into the background or has failed.
static char *read_line(int fd)
{
  struct tide_buf text = {0};
  for (;;) {
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    uint8_t bytes[256];
    if (poll(&readable, 1, MAX_WAIT_MS) <= 0)
      break;
    ssize_t n = read(fd, bytes, sizeof bytes);
    if (n <= 0)
      break;
    tide_buf_append(&text, bytes, (size_t)n);
  }
  const uint8_t *end = text.n ? memchr(text.data, '\n', text.n) : NULL;
  char *line = end ? tide_strndup((char *)text.data, (size_t)(end - text.data)) : NULL;
  tide_buf_done(&text);
  return line;
}

char *tide_viewer_finish(struct tide_viewer *viewer)
{
  if (viewer->pid <= 0)
    return NULL;
  char *url = read_line(viewer->url_fd);
  close(viewer->url_fd);
  if (url) // otherwise it may be stuck, and is left to itself
    while (waitpid(viewer->pid, NULL, 0) < 0 && errno == EINTR)
      continue;
  viewer->pid = -1;
  return url;
}
