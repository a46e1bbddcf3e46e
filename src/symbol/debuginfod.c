// SPDX-License-Identifier: Apache-2.0
//
// libdebuginfod by dlopen(), as libdw does it: it brings curl and a dozen libraries along, which
// nobody should have to install or load who has no server. The few functions used are declared
// here; they have been the same since elfutils 0.180.
//
// A server may be slow, broken or worse. The library calls back several times a second while it
// waits; there the user may give up, and we do
//  1. when a span of DEBUGINFOD_TIMEOUT seconds, 30 by default, brought less than PACE_BYTES (the
//     library's own limit is three times that, and begins with the answer);
//  2. after DEBUGINFOD_MAXTIME seconds, 1200 by default;
//  3. when the answer is larger than DEBUGINFOD_MAXSIZE bytes, 2 GiB by default, or says that it
//     will be. What it says may be wrong, and it may be packed: so the kernel guards that limit as
//     well, by the size of the file that is written.
// The library removes what it has of a file when it is broken off.
#define _GNU_SOURCE
#include "symbol/debugfile.h"

#include "base/alloc.h"
#include "base/units.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY_NAME "libdebuginfod.so.1"
#define SPAN_S 30
#define PACE_BYTES (256 << 10)
#define TIME_MAX_S 1200
#define SIZE_MAX_BYTES (2ull << 30)
#define MAX_BUILD_ID 64

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

enum broken_off { NOT_BROKEN_OFF, BY_USER, FOR_PACE, FOR_TIME, FOR_SIZE };

struct tide_debuginfod {
  const struct tide_symbol_watch *watch;         // NULL: nobody
  struct client *client;                         // NULL until the first question
  char trouble[120];                             // "" while all is well
  bool is_refused;                               // the trouble is with the latest answer alone,
  uint8_t asked_id[MAX_BUILD_ID];                // which was about this
  uint64_t span_ns, time_max_ns, size_max_bytes; // 0: no limit
  // Of the running transfer:
  uint64_t begun_ns, span_begun_ns;
  uint64_t bytes, span_first_bytes; // now, and when the span began
  bool is_asked;                    // a server was: the file was not in the cache
  bool is_answered;                 // and it began to say something
  enum broken_off why;
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

// A number of the environment; 0 is one, and means no limit.
static uint64_t limit_of(const char *variable, uint64_t otherwise)
{
  const char *text = getenv(variable);
  char *end = NULL;
  if (!text || *text < '0' || *text > '9')
    return otherwise;
  uint64_t limit = strtoull(text, &end, 10);
  return *end ? otherwise : limit;
}

struct tide_debuginfod *tide_debuginfod_new(const struct tide_symbol_watch *watch)
{
  struct tide_debuginfod *d = tide_alloc(sizeof *d);
  d->watch = watch;
  d->span_ns = limit_of("DEBUGINFOD_TIMEOUT", SPAN_S) * 1000000000;
  d->time_max_ns = limit_of("DEBUGINFOD_MAXTIME", TIME_MAX_S) * 1000000000;
  d->size_max_bytes = limit_of("DEBUGINFOD_MAXSIZE", SIZE_MAX_BYTES);
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

static bool is_slow(struct tide_debuginfod *d, uint64_t now)
{
  if (d->bytes >= d->span_first_bytes + PACE_BYTES) {
    d->span_first_bytes = d->bytes;
    d->span_begun_ns = now;
  }
  return d->span_ns && now - d->span_begun_ns > d->span_ns;
}

static bool is_too_large(const struct tide_debuginfod *d, uint64_t bytes)
{
  return d->size_max_bytes && bytes > d->size_max_bytes;
}

// Not zero: break off. Until a server answers, n counts calls instead of bytes, and total is 0.
static int progress(struct client *client, long n, long total)
{
  struct tide_debuginfod *d = library.get_user_data(client);
  uint64_t now = now_ns(), all = total > n ? (uint64_t)total : 0;
  d->is_asked = true;
  d->is_answered |= total > 0;
  d->bytes = n > 0 ? (uint64_t)n : 0;
  if (is_too_large(d, d->bytes) || is_too_large(d, all))
    d->why = FOR_SIZE;
  else if (is_slow(d, now))
    d->why = FOR_PACE;
  else if (d->time_max_ns && now - d->begun_ns > d->time_max_ns)
    d->why = FOR_TIME;
  else if (d->watch && !d->watch->step(d->watch->context, d->bytes, all))
    d->why = BY_USER;
  return d->why != NOT_BROKEN_OFF;
}

static bool begin_client(struct tide_debuginfod *d)
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

static void set_trouble(struct tide_debuginfod *d, const char *words)
{
  snprintf(d->trouble, sizeof d->trouble, "%s", words);
}

static void note_too_large(struct tide_debuginfod *d)
{
  char size[TIDE_UNITS_MAX];
  tide_units_bytes(size, tide_exact((int64_t)d->size_max_bytes), TIDE_STYLE_PLAIN);
  snprintf(d->trouble, sizeof d->trouble,
           "the answer is larger than %.32s, which DEBUGINFOD_MAXSIZE can change", size);
  d->is_refused = true;
}

// result: -errno of a question without an answer.
static void note_trouble(struct tide_debuginfod *d, int result)
{
  if (d->why == FOR_SIZE || result == -EFBIG)
    note_too_large(d);
  else if (d->why == BY_USER)
    set_trouble(d, "the download was stopped");
  else if (d->why == FOR_TIME)
    set_trouble(d, "the download took too long (DEBUGINFOD_MAXTIME)");
  else if (d->why == FOR_PACE || result == -ETIME || result == -ETIMEDOUT)
    set_trouble(d, d->is_answered ? "the server is too slow (DEBUGINFOD_TIMEOUT)"
                                  : "the server does not answer");
  else if (result != -ENOENT)
    set_trouble(d, strerror(-result));
}

// The question, with files limited in size meanwhile. What is written beyond that fails, and a
// signal that is held back tells.
static int ask_servers(struct tide_debuginfod *d, find_function *find, const uint8_t *build_id,
                       size_t n, char **ret_path)
{
  sigset_t limit, before;
  struct rlimit old = {0};
  bool is_limited =
      d->size_max_bytes && !getrlimit(RLIMIT_FSIZE, &old) && d->size_max_bytes < old.rlim_cur;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &limit, &before);
  if (is_limited)
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){d->size_max_bytes, old.rlim_max});
  int fd = find(d->client, build_id, (int)n, ret_path);
  if (is_limited)
    setrlimit(RLIMIT_FSIZE, &old);
  if (!sigismember(&before, SIGXFSZ) &&
      sigtimedwait(&limit, NULL, &(struct timespec){0}) == SIGXFSZ && is_limited)
    d->why = FOR_SIZE;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return fd;
}

// A file that came in so few steps that nobody looked in between.
static bool came_too_large(const struct tide_debuginfod *d, int fd)
{
  struct stat st;
  return d->is_asked && fstat(fd, &st) == 0 && is_too_large(d, (uint64_t)st.st_size);
}

// An answer that was refused says nothing about other files.
static void turn_to(struct tide_debuginfod *d, const uint8_t *build_id, size_t n)
{
  uint8_t id[MAX_BUILD_ID] = {0};
  memcpy(id, build_id, n);
  if (d->is_refused && memcmp(id, d->asked_id, sizeof id) != 0) {
    d->is_refused = false;
    d->trouble[0] = 0;
  }
  memcpy(d->asked_id, id, sizeof id);
}

char *tide_debuginfod_find(struct tide_debuginfod *d, enum tide_debuginfod_kind kind,
                           const uint8_t *build_id, size_t build_id_len, const char *what)
{
  if (!d || build_id_len < 2 || build_id_len > MAX_BUILD_ID || !tide_debuginfod_is_configured())
    return NULL;
  turn_to(d, build_id, build_id_len);
  if ((d->trouble[0] && !d->is_refused) || !begin_client(d))
    return NULL;
  find_function *find =
      kind == TIDE_DEBUGINFOD_EXECUTABLE ? library.find_executable : library.find_debuginfo;
  d->begun_ns = d->span_begun_ns = now_ns();
  d->bytes = d->span_first_bytes = 0;
  d->is_asked = d->is_answered = false;
  d->why = NOT_BROKEN_OFF;
  if (d->watch)
    d->watch->begin(d->watch->context, what);
  char *path = NULL;
  int fd = ask_servers(d, find, build_id, build_id_len, &path);
  if (d->watch)
    d->watch->end(d->watch->context);
  if (fd < 0) {
    note_trouble(d, fd);
    return NULL;
  }
  bool is_refused = came_too_large(d, fd);
  close(fd);
  if (!is_refused)
    return path;
  note_too_large(d);
  unlink(path);
  free(path);
  return NULL;
}
