// SPDX-License-Identifier: Apache-2.0
//
// Getting a store, with raw system calls and no descriptor left behind. A process without a free
// descriptor cannot be served: the caller counts it and steps aside.
#include "record/door.h"

#include "rt/sys.h"
#include "rt/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#ifndef HUGETLBFS_MAGIC
#define HUGETLBFS_MAGIC 0x958458f6
#endif
enum { MIN_FREE_BYTES = 64 << 20 };

static void *map_store(long fd, uint64_t bytes)
{
  long p = TIDE_SYS(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (tide_sys_failed(p))
    return NULL;
  tide_sys_adopt_map((void *)p, bytes);
  return (void *)p;
}

enum { DEFAULT_OVERFLOW_UID = 65534 };

// The beginning of a file as a string; empty if it cannot be read.
static void read_line(const char *path, char *text, size_t bytes)
{
  long fd = TIDE_SYS(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), n = 0;
  if (!tide_sys_failed(fd)) {
    n = TIDE_SYS(SYS_read, fd, text, bytes - 1);
    TIDE_SYS(SYS_close, fd);
  }
  text[n > 0 ? n : 0] = 0;
}

// The user that the kernel shows in the place of one who has no number in our namespace.
static uint64_t overflow_uid(void)
{
  char text[32];
  bool ok;
  read_line("/proc/sys/kernel/overflowuid", text, sizeof text);
  uint64_t uid = tide_text_number(text, &ok);
  return ok ? uid : DEFAULT_OVERFLOW_UID;
}

// Has every user a number here, as in the first namespace? "0 0 4294967295", in columns.
static bool all_users_are_known(void)
{
  static const char whole[] = "004294967295\n";
  char text[128];
  size_t n = 0;
  read_line("/proc/self/uid_map", text, sizeof text);
  for (const char *p = text; *p; p++)
    if (*p != ' ' && (n >= sizeof whole - 1 || *p != whole[n++]))
      return false;
  return n == sizeof whole - 1;
}

// Real, effective and saved: one that may become another user again belongs to both.
static bool is_our_only_user(uint32_t uid)
{
  uint32_t real, effective, saved;
  return !tide_sys_failed(TIDE_SYS(SYS_getresuid, &real, &effective, &saved)) && uid == real &&
         uid == effective && uid == saved;
}

// Is the peer of this connected socket root, or the one user that this process is? A user that our
// user namespace does not know is nobody, even if we are not known there either.
//
// The door's name is no secret, and it is free again when the supervisor has ended: any user may
// sit there. Whoever hands out a store sees the command line and decides what the recorder reads;
// so the kernel is asked who listens.
static bool peer_is_believed(long fd)
{
  struct ucred peer;
  socklen_t n = sizeof peer;
  if (tide_sys_failed(TIDE_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &n)) ||
      n != sizeof peer)
    return false;
  return peer.uid == 0 ||
         (is_our_only_user(peer.uid) && (peer.uid != overflow_uid() || all_users_are_known()));
}

// A connection under way. Signals of the program may interrupt each wait: there is one deadline for
// all.
struct visit {
  long fd, seconds;
  uint64_t deadline_s;
};

static uint64_t now_s(void)
{
  struct timespec now = {0};
  TIDE_SYS(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec;
}

static struct visit visit_of(long seconds)
{
  return (struct visit){.seconds = seconds, .deadline_s = now_s() + (uint64_t)seconds};
}

static bool try_again(const struct visit *visit, long ret)
{
  return ret == -EINTR && now_s() < visit->deadline_s;
}

static enum tide_door_outcome outcome_of(long error)
{
  return error == -EAGAIN || error == -EINTR ? TIDE_DOOR_SILENT : TIDE_DOOR_NOBODY;
}

// A stopped supervisor neither accepts (then connect waits as soon as its backlog is full) nor
// answers. Abstract names begin with a zero byte; others are paths.
static enum tide_door_outcome connect_to(struct visit *visit, const struct sockaddr_un *address,
                                         size_t n)
{
  long timeout[2] = {visit->seconds, 0}, ret;
  visit->fd = TIDE_SYS(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (tide_sys_failed(visit->fd))
    return TIDE_DOOR_NOBODY;
  TIDE_SYS(SYS_setsockopt, visit->fd, SOL_SOCKET, SO_RCVTIMEO, timeout, sizeof timeout);
  TIDE_SYS(SYS_setsockopt, visit->fd, SOL_SOCKET, SO_SNDTIMEO, timeout, sizeof timeout);
  do
    ret = TIDE_SYS(SYS_connect, visit->fd, address, offsetof(struct sockaddr_un, sun_path) + n);
  while (try_again(visit, ret));
  enum tide_door_outcome outcome = tide_sys_failed(ret)           ? outcome_of(ret)
                                   : !peer_is_believed(visit->fd) ? TIDE_DOOR_STRANGER
                                                                  : TIDE_DOOR_SERVED;
  if (outcome != TIDE_DOOR_SERVED)
    TIDE_SYS(SYS_close, visit->fd);
  return outcome;
}

// In a network namespace of its own a process finds no abstract names, but paths; or it finds a
// stranger at that name, and its supervisor at the path.
static enum tide_door_outcome connect_either(struct visit *visit, const char *name)
{
  static const char directory[] = TIDE_DOOR_DIRECTORY;
  enum { DIRECTORY_N = sizeof directory - 1 };
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t n = tide_text_len(name), max = sizeof address.sun_path - DIRECTORY_N - 1;
  n = n < max ? n : max;
  memcpy(address.sun_path + 1, name, n);
  enum tide_door_outcome first = connect_to(visit, &address, n + 1), second;
  if (first != TIDE_DOOR_NOBODY && first != TIDE_DOOR_STRANGER)
    return first;
  memcpy(address.sun_path, directory, DIRECTORY_N);
  memcpy(address.sun_path + DIRECTORY_N, name, n);
  second = connect_to(visit, &address, DIRECTORY_N + n + 1);
  return second == TIDE_DOOR_NOBODY ? first : second;
}

// The descriptor in the answer, -1 for none. The kernel drops those that find no place.
static long receive(const struct visit *visit, void *answer, size_t bytes, long *ret_n)
{
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct iovec part = {answer, bytes};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  do
    *ret_n = TIDE_SYS(SYS_recvmsg, visit->fd, &message, MSG_CMSG_CLOEXEC);
  while (try_again(visit, *ret_n));
  struct cmsghdr *c = tide_sys_failed(*ret_n) ? NULL : CMSG_FIRSTHDR(&message);
  if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
      c->cmsg_len != CMSG_LEN(sizeof(int)))
    return -1;
  int received;
  memcpy(&received, CMSG_DATA(c), sizeof received);
  return received;
}

// Memory that is there for good: a memfd (nothing else has seals) of the size asked for, which
// nobody can make smaller, of pages that cannot run out like huge ones.
static bool is_safe(long memory, uint64_t bytes)
{
  struct statfs fs;
  long seals = TIDE_SYS(SYS_fcntl, memory, F_GET_SEALS, 0);
  long size = TIDE_SYS(SYS_lseek, memory, 0, SEEK_END);
  return !tide_sys_failed(seals) && (seals & SEALS) == SEALS && !tide_sys_failed(size) &&
         (uint64_t)size >= bytes && !tide_sys_failed(TIDE_SYS(SYS_fstatfs, memory, &fs)) &&
         (uint64_t)fs.f_type != HUGETLBFS_MAGIC;
}

void *tide_door_adopt(long memory, uint64_t bytes)
{
  void *store = is_safe(memory, bytes) ? map_store(memory, bytes) : NULL;
  TIDE_SYS(SYS_close, memory);
  return store;
}

static long send_all(const struct visit *visit, const void *message, size_t bytes)
{
  long n;
  do
    n = TIDE_SYS(SYS_sendto, visit->fd, message, bytes, MSG_NOSIGNAL, 0, 0);
  while (try_again(visit, n));
  return n;
}

// Sends a message and waits for the answer, whose descriptor is the caller's to close; -1: none.
static enum tide_door_outcome exchange(const struct visit *visit, const void *message, size_t bytes,
                                       long *ret_memory)
{
  struct tide_door_answer answer = {0};
  long n = send_all(visit, message, bytes);
  // Whoever is not of the run may be answered before it has spoken: its word finds the door closed.
  if (tide_sys_failed(n) && n != -EPIPE)
    return outcome_of(n);
  *ret_memory = receive(visit, &answer, sizeof answer, &n);
  if (tide_sys_failed(n))
    return outcome_of(n);
  if (n != sizeof answer || answer.magic != TIDE_DOOR_MAGIC)
    return TIDE_DOOR_NOBODY;
  return answer.status == TIDE_DOOR_NOT_OF_THE_RUN ? TIDE_DOOR_OUTSIDE
         : answer.status == TIDE_DOOR_TAKEN        ? TIDE_DOOR_SEEN_TO
         : answer.status                           ? TIDE_DOOR_REFUSED
                                                   : TIDE_DOOR_SERVED;
}

static enum tide_door_outcome ask_for_store(const struct visit *visit,
                                            const struct tide_door_hello *hello, void **ret_store)
{
  long memory = -1;
  enum tide_door_outcome outcome = exchange(visit, hello, sizeof *hello, &memory);
  if (outcome == TIDE_DOOR_SERVED && memory < 0)
    outcome = TIDE_DOOR_NOBODY;
  else if (outcome == TIDE_DOOR_SERVED && !is_safe(memory, hello->store_bytes))
    outcome = TIDE_DOOR_UNSAFE;
  else if (outcome == TIDE_DOOR_SERVED && !(*ret_store = map_store(memory, hello->store_bytes)))
    outcome = TIDE_DOOR_NO_ROOM;
  if (memory >= 0)
    TIDE_SYS(SYS_close, memory);
  return outcome;
}

void *tide_door_store(const char *name, const struct tide_door_hello *hello,
                      enum tide_door_outcome *ret_outcome)
{
  struct visit visit = visit_of(TIDE_DOOR_SECONDS);
  void *store = NULL;
  *ret_outcome = connect_either(&visit, name);
  if (*ret_outcome == TIDE_DOOR_SERVED) {
    *ret_outcome = ask_for_store(&visit, hello, &store);
    TIDE_SYS(SYS_close, visit.fd);
  }
  return store;
}

// Where only ancestors may trace: the supervisor's own helpers, too.
static void let_trace(const struct visit *visit)
{
  struct ucred peer;
  socklen_t n = sizeof peer;
  if (!tide_sys_failed(TIDE_SYS(SYS_getsockopt, visit->fd, SOL_SOCKET, SO_PEERCRED, &peer, &n)))
    TIDE_SYS(SYS_prctl, PR_SET_PTRACER, peer.pid, 0, 0, 0);
}

enum tide_door_outcome tide_door_tell(const char *name, const struct tide_door_hello *hello,
                                      const char *path, bool traced)
{
  struct {
    struct tide_door_hello hello;
    char path[1000];
  } word;
  struct visit visit = visit_of(TIDE_DOOR_SECONDS);
  struct tide_line line = TIDE_LINE(word.path);
  long memory = -1;
  word.hello = *hello;
  tide_line_add(&line, path);
  enum tide_door_outcome outcome = connect_either(&visit, name);
  if (outcome != TIDE_DOOR_SERVED)
    return outcome;
  if (traced)
    let_trace(&visit);
  outcome = exchange(&visit, &word, sizeof word.hello + line.n, &memory);
  if (memory >= 0)
    TIDE_SYS(SYS_close, memory);
  TIDE_SYS(SYS_close, visit.fd);
  return outcome;
}

long tide_door_exchange(const char *name, size_t name_bytes, const struct tide_packet *packet,
                        long seconds, long *ret_fd)
{
  struct visit visit = visit_of(seconds);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  *ret_fd = -1;
  if (name_bytes >= sizeof address.sun_path)
    return -ENOENT;
  memcpy(address.sun_path + 1, name, name_bytes);
  enum tide_door_outcome outcome = connect_to(&visit, &address, name_bytes + 1);
  if (outcome != TIDE_DOOR_SERVED)
    return outcome == TIDE_DOOR_STRANGER ? -EACCES : -ENOENT;
  long n = send_all(&visit, packet->out, packet->out_bytes);
  if (!tide_sys_failed(n))
    *ret_fd = receive(&visit, packet->in, packet->in_bytes, &n);
  TIDE_SYS(SYS_close, visit.fd);
  return n;
}

// Names that are taken (an image before exec had the same pid) get a number before their ending.
static void file_name(const char *pattern, const char *program, uint32_t attempt,
                      struct tide_line *line)
{
  const char *ending = tide_text_find(pattern, ".store");
  const char *base = program;
  for (const char *p = program; *p; p++)
    if (*p == '/')
      base = p + 1;
  for (; *pattern; pattern++) {
    if (attempt && pattern == ending) {
      tide_line_add(line, ".");
      tide_line_number(line, attempt + 1);
      attempt = 0;
    }
    if (pattern[0] == '%' && pattern[1] == 'p') {
      tide_line_number(line, tide_sys_pid());
      pattern++;
    } else if (pattern[0] == '%' && pattern[1] == 'n') {
      tide_line_add(line, base);
      pattern++;
    } else {
      tide_line_add_n(line, pattern, 1);
    }
  }
  if (attempt) {
    tide_line_add(line, ".");
    tide_line_number(line, attempt + 1);
  }
}

// Pages of a file are found wanting only when they are touched, and that kills: so ask first.
static bool has_room(long fd, uint64_t bytes)
{
  struct statfs fs;
  struct rlimit limit;
  if (tide_sys_failed(TIDE_SYS(SYS_fstatfs, fd, &fs)) ||
      (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < MIN_FREE_BYTES)
    return false;
  return !tide_sys_failed(TIDE_SYS(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit)) &&
         limit.rlim_cur >= bytes;
}

void *tide_door_file(const char *pattern, const char *program, uint64_t bytes, char *name,
                     size_t name_cap)
{
  long fd = -EEXIST;
  for (uint32_t attempt = 0; fd == -EEXIST && attempt < 1000; attempt++) {
    struct tide_line line = {name, 0, name_cap};
    file_name(pattern, program, attempt, &line);
    fd = TIDE_SYS(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  if (tide_sys_failed(fd))
    return NULL;
  void *store = NULL;
  if (has_room(fd, bytes) && !tide_sys_failed(TIDE_SYS(SYS_ftruncate, fd, bytes)))
    store = map_store(fd, bytes);
  TIDE_SYS(SYS_close, fd);
  if (!store)
    TIDE_SYS(SYS_unlinkat, AT_FDCWD, name, 0);
  return store;
}
