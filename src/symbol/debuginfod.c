// SPDX-License-Identifier: Apache-2.0
//
// libdebuginfod by dlopen(), as libdw does it: it brings curl and a dozen libraries along, which
// nobody should have to install or load who has no server. The few functions used are declared
// here; they have been the same since elfutils 0.180.
//
// The library calls back several times a second while it waits. There a silent server is given up
// after DEBUGINFOD_TIMEOUT seconds, 30 by default (the library's own limit is three times that),
// and the user may do so at any time.
#define _GNU_SOURCE
#include "symbol/debuginfod.h"

#include "base/alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY_NAME "libdebuginfod.so.1"
#define SILENCE_MAX_S 30

struct client; // theirs
typedef int find_function(struct client *, const unsigned char *build_id, int build_id_len,
                          char **path);
typedef int progress_function(struct client *, long n, long total);

static struct { // all NULL when it cannot be had
  struct client *(*begin)(void);
  void (*end)(struct client *);
  find_function *find_debuginfo, *find_executable;
  void (*set_progressfn)(struct client *, progress_function *);
  void (*set_user_data)(struct client *, void *);
  void *(*get_user_data)(struct client *);
} library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

struct tide_debuginfod {
  const struct tide_symbol_watch *watch; // NULL: nobody
  struct client *client;                 // NULL until the first question
  char trouble[80];                      // "" while all is well
  uint64_t silence_max_ns;
  // Of the running transfer:
  long bytes;                 // as last told
  uint64_t moved_ns;          // when they last changed
  bool is_stopped, is_silent; // why it was broken off
};

static void load_library(void)
{
  void *handle = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
  const struct {
    const char *name;
    void **function;
  } wanted[] = {
      {"debuginfod_end", (void **)&library.end},
      {"debuginfod_find_debuginfo", (void **)&library.find_debuginfo},
      {"debuginfod_find_executable", (void **)&library.find_executable},
      {"debuginfod_set_progressfn", (void **)&library.set_progressfn},
      {"debuginfod_set_user_data", (void **)&library.set_user_data},
      {"debuginfod_get_user_data", (void **)&library.get_user_data},
  };
  for (size_t i = 0; handle && i < sizeof wanted / sizeof *wanted; i++)
    if (!(*wanted[i].function = dlsym(handle, wanted[i].name)))
      return;
  if (handle)
    *(void **)&library.begin = dlsym(handle, "debuginfod_begin"); // last: it stands for all
}

bool tide_debuginfod_is_configured(void)
{
  const char *urls = getenv("DEBUGINFOD_URLS");
  return urls && urls[strspn(urls, " ")];
}

struct tide_debuginfod *tide_debuginfod_new(const struct tide_symbol_watch *watch)
{
  struct tide_debuginfod *d = tide_alloc(sizeof *d);
  const char *limit = getenv("DEBUGINFOD_TIMEOUT");
  long limit_s = limit ? strtol(limit, NULL, 10) : 0;
  d->watch = watch;
  d->silence_max_ns = (uint64_t)(limit_s > 0 ? limit_s : SILENCE_MAX_S) * 1000000000;
  return d;
}

void tide_debuginfod_free(struct tide_debuginfod *d)
{
  if (d && d->client)
    library.end(d->client);
  free(d);
}

const char *tide_debuginfod_trouble(const struct tide_debuginfod *d)
{
  return d && d->trouble[0] ? d->trouble : NULL;
}

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Not zero: break off.
static int progress(struct client *client, long n, long total)
{
  struct tide_debuginfod *d = library.get_user_data(client);
  uint64_t now = now_ns();
  if (n != d->bytes) {
    d->bytes = n;
    d->moved_ns = now;
  }
  d->is_silent = now - d->moved_ns > d->silence_max_ns;
  if (d->watch && !d->is_silent)
    d->is_stopped = !d->watch->step(d->watch->context, n > 0 ? (uint64_t)n : 0,
                                    total > n ? (uint64_t)total : 0);
  return d->is_silent || d->is_stopped;
}

static bool begin(struct tide_debuginfod *d)
{
  if (d->client)
    return true;
  pthread_once(&library_once, load_library);
  d->client = library.begin ? library.begin() : NULL;
  if (!d->client) {
    snprintf(d->trouble, sizeof d->trouble, LIBRARY_NAME " is not installed");
    return false;
  }
  library.set_user_data(d->client, d);
  library.set_progressfn(d->client, progress);
  return true;
}

// result: -errno of a question without an answer.
static void note_trouble(struct tide_debuginfod *d, int result)
{
  if (d->is_stopped)
    snprintf(d->trouble, sizeof d->trouble, "the download was stopped");
  else if (d->is_silent || result == -ETIME || result == -ETIMEDOUT)
    snprintf(d->trouble, sizeof d->trouble, "the server does not answer");
  else if (result != -ENOENT)
    snprintf(d->trouble, sizeof d->trouble, "%s", strerror(-result));
}

char *tide_debuginfod_find(struct tide_debuginfod *d, enum tide_debuginfod_kind kind,
                           const uint8_t *build_id, size_t build_id_len, const char *what)
{
  if (!d || build_id_len < 2 || build_id_len > 64 || d->trouble[0] ||
      !tide_debuginfod_is_configured() || !begin(d))
    return NULL;
  find_function *find =
      kind == TIDE_DEBUGINFOD_EXECUTABLE ? library.find_executable : library.find_debuginfo;
  d->bytes = 0;
  d->moved_ns = now_ns();
  d->is_stopped = d->is_silent = false;
  if (d->watch)
    d->watch->begin(d->watch->context, what);
  char *path = NULL;
  int fd = find(d->client, build_id, (int)build_id_len, &path);
  if (d->watch)
    d->watch->end(d->watch->context);
  if (fd < 0) {
    note_trouble(d, fd);
    return NULL;
  }
  close(fd);
  return path;
}
