// SPDX-License-Identifier: Apache-2.0
//
// What a program tells its own recording (tidemark.h), as `tidemark ctl` does from outside. A
// supervisor is asked at its desk, where all processes of the recording are switched and a snapshot
// is taken. Where there is none, or none that can be reached, the store of this process is switched
// by itself, as observe/switches.c does it.
#include "ask/ask.h"
#include "record/door.h"
#include "record/record.h"
#include "rt/sys.h"
#include "rt/text.h"
#include "store/desk_words.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

enum { LINE_BYTES = 256, DUMP_SECONDS = 60, SEND_BYTES = 1 << 20, MOST_TRIES = 300 };

// ---- at the desk ----

struct asking {
  struct tide_desk_ask ask;
  struct tide_desk_answer answer;
  long fd; // that came along; -1: none
};

// Whoever is behind a name: -ENOENT, it is not this process's recording.
static long ask_one(struct asking *a, const char *name, size_t n)
{
  const struct tide_packet packet = {&a->ask, &a->answer, sizeof a->ask, sizeof a->answer};
  // A tidemark that is stopped, ours or not, holds the program up for so long.
  long seconds = a->ask.verb == TIDE_DESK_DUMP ? DUMP_SECONDS : TIDE_DOOR_SECONDS;
  long got = tide_door_exchange(name, n, &packet, seconds, &a->fd);
  bool is_answer = got == (long)sizeof a->answer && a->answer.magic == TIDE_DESK_MAGIC &&
                   a->answer.version == TIDE_DESK_VERSION;
  long error = !is_answer                               ? -ENOENT
               : a->answer.status == TIDE_DESK_DONE     ? 0
               : a->answer.status == TIDE_DESK_NOT_HERE ? -ENOENT
               : a->answer.status == TIDE_DESK_DENIED   ? -EPERM
                                                        : -EIO;
  if (error && a->fd >= 0) {
    TIDE_SYS(SYS_close, a->fd);
    a->fd = -1;
  }
  return error;
}

// A line of /proc/net/unix, which ends with the name of a socket.
static long ask_of_line(struct asking *a, const char *line, size_t n)
{
  static const char mark[] = " @" TIDE_DESK_NAME;
  enum { MARK_N = sizeof mark - 1 };
  for (size_t i = 0; i + MARK_N < n; i++)
    if (!memcmp(line + i, mark, MARK_N))
      return ask_one(a, line + i + 2, n - i - 2);
  return -ENOENT;
}

// All desks of this network namespace, until one has this process: -ENOENT, none has.
static long ask_supervisor(struct asking *a)
{
  char bytes[1024], line[LINE_BYTES];
  long file = TIDE_SYS(SYS_openat, AT_FDCWD, "/proc/net/unix", O_RDONLY | O_CLOEXEC);
  long error = -ENOENT, got;
  size_t n = 0;
  if (tide_sys_failed(file))
    return error;
  a->ask.magic = TIDE_DESK_MAGIC;
  a->ask.version = TIDE_DESK_VERSION;
  while (error == -ENOENT && (got = TIDE_SYS(SYS_read, file, bytes, sizeof bytes)) > 0)
    for (long i = 0; i < got && error == -ENOENT; i++) {
      if (bytes[i] != '\n') {
        line[n < sizeof line - 1 ? n++ : n] = bytes[i]; // a longer one is none of ours
      } else {
        error = ask_of_line(a, line, n);
        n = 0;
      }
    }
  TIDE_SYS(SYS_close, file);
  return error;
}

// ---- in the store ----

static uint32_t holder; // the process that is at its switches; in a fork child, perhaps its parent

// False: a signal handler came while its own thread is.
static bool take_switches(void)
{
  uint32_t own = (uint32_t)TIDE_SYS(SYS_getpid, 0);
  for (int tries = 0; tries < MOST_TRIES; tries++) {
    uint32_t was = tide_load_relaxed(&holder);
    if (was != own &&
        __atomic_compare_exchange_n(&holder, &was, own, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return true;
    TIDE_SYS(SYS_sched_yield, 0);
  }
  return false;
}

static void drop_switches(void)
{
  tide_store_release(&holder, 0);
}

static uint64_t now_ns(void)
{
  struct timespec now = {0};
  TIDE_SYS(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static long put_moment(const char *name, uint64_t at_ns)
{
  struct tide_store_header *h = tide_store.header;
  const struct tide_area *area = &tide_store.areas.moments;
  uint32_t n = tide_load_relaxed(&h->switches.n_moments);
  if (n >= TIDE_MOMENTS || n >= area->capacity)
    return -ENOSPC;
  struct tide_store_moment *row = (struct tide_store_moment *)((char *)h + area->offset) + n;
  *row = (struct tide_store_moment){.time_ns = at_ns};
  memcpy(row->name, name, tide_text_len(name));
  tide_store_release(&h->switches.n_moments, n + 1);
  return 0;
}

static long mark_store(const char *name)
{
  if (!take_switches())
    return -EBUSY;
  long error = put_moment(name, now_ns());
  drop_switches();
  return error;
}

static long switch_store(bool is_off)
{
  struct tide_store_header *h = tide_store.header;
  struct tide_store_switches *s = &h->switches;
  if (!take_switches())
    return -EBUSY;
  uint64_t now = now_ns();
  if (!!tide_load_relaxed(&h->paused) != is_off) {
    put_moment(is_off ? TIDE_MOMENT_OFF : TIDE_MOMENT_ON, now); // if there is room
    if (is_off) {
      s->paused_since_ns = now;
      s->n_pauses++;
    } else {
      s->paused_ns += now > s->paused_since_ns ? now - s->paused_since_ns : 0;
    }
    tide_store_relaxed(&h->paused, is_off);
    __atomic_fetch_add(&h->pulse.beat, 1, __ATOMIC_RELEASE);
  }
  drop_switches();
  return 0;
}

// ---- what is asked ----

static long ready(struct tide_seat *seat)
{
  if (!tide_boot(seat)) // which a fork child does here, if it has not yet
    return -ENODATA;
  return tide_sys_confined ? -EPERM : 0;
}

// 1 to TIDE_MOMENT_NAME_BYTES - 1 bytes, without control characters.
static bool is_name(const char *name)
{
  size_t n = 0;
  for (; name[n]; n++)
    if (n == TIDE_MOMENT_NAME_BYTES - 1 || (unsigned char)name[n] < ' ' || name[n] == 127)
      return false;
  return n > 0;
}

long tide_ask_mark(struct tide_seat *seat, const char *name)
{
  struct asking a = {.fd = -1, .ask.verb = TIDE_DESK_MARK};
  if (!name || !is_name(name))
    return -EINVAL;
  long error = ready(seat);
  if (error)
    return error;
  memcpy(a.ask.name, name, tide_text_len(name));
  error = ask_supervisor(&a);
  if (error == -ENOENT)
    error = mark_store(name);
  return error == -EIO ? -ENOSPC : error;
}

static long switch_to(struct tide_seat *seat, bool is_off)
{
  struct asking a = {.fd = -1, .ask.verb = is_off ? TIDE_DESK_OFF : TIDE_DESK_ON};
  long error = ready(seat);
  if (error)
    return error;
  error = ask_supervisor(&a);
  if (error == -ENOENT)
    error = switch_store(is_off);
  return error;
}

long tide_ask_pause(struct tide_seat *seat)
{
  return switch_to(seat, true);
}

long tide_ask_resume(struct tide_seat *seat)
{
  return switch_to(seat, false);
}

long tide_ask_snapshot(struct tide_seat *seat)
{
  struct asking a = {.fd = -1, .ask.verb = TIDE_DESK_SNAPSHOT};
  long error = ready(seat);
  if (!error)
    error = ask_supervisor(&a);
  return error == -ENOENT ? -EOPNOTSUPP : error;
}

static long copy_to(const char *path, long from)
{
  long to = TIDE_SYS(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (tide_sys_failed(to))
    return to;
  long offset = 0, n;
  do
    n = TIDE_SYS(SYS_sendfile, to, from, &offset, SEND_BYTES);
  while (n > 0 || n == -EINTR);
  long closed = TIDE_SYS(SYS_close, to);
  return tide_sys_failed(n) ? n : closed;
}

long tide_ask_dump(struct tide_seat *seat, const char *path)
{
  struct asking a = {.fd = -1, .ask.verb = TIDE_DESK_DUMP};
  long error = path ? ready(seat) : -EINVAL;
  if (!error)
    error = ask_supervisor(&a);
  if (!error && a.fd < 0)
    error = -EIO;
  if (!error) {
    error = copy_to(path, a.fd);
    TIDE_SYS(SYS_close, a.fd);
  }
  return error == -ENOENT && a.fd < 0 ? -EOPNOTSUPP : error;
}
