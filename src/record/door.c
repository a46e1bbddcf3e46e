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
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/un.h>

enum { ANSWER_SECONDS = 5, MIN_FREE_BYTES = 64 << 20 };

static void *map_store(long fd, uint64_t bytes)
{
  long p = TIDE_SYS(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (tide_sys_failed(p))
    return NULL;
  tide_sys_adopt_map((void *)p, bytes);
  return (void *)p;
}

// Abstract names begin with a zero byte; others are paths.
static long connect_to(const struct sockaddr_un *address, size_t n)
{
  long fd = TIDE_SYS(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (tide_sys_failed(fd))
    return fd;
  long timeout[2] = {ANSWER_SECONDS, 0}, ret;
  TIDE_SYS(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, timeout, sizeof timeout);
  do
    ret = TIDE_SYS(SYS_connect, fd, address, offsetof(struct sockaddr_un, sun_path) + n);
  while (ret == -EINTR);
  if (!tide_sys_failed(ret))
    return fd;
  TIDE_SYS(SYS_close, fd);
  return ret;
}

// In a network namespace of its own a process finds no abstract names, but paths.
static long connect_either(const char *name)
{
  static const char directory[] = "/tmp/";
  enum { DIRECTORY_N = sizeof directory - 1 };
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t n = tide_text_len(name), max = sizeof address.sun_path - DIRECTORY_N - 1;
  n = n < max ? n : max;
  memcpy(address.sun_path + 1, name, n);
  long fd = connect_to(&address, n + 1);
  if (!tide_sys_failed(fd))
    return fd;
  memcpy(address.sun_path, directory, DIRECTORY_N);
  memcpy(address.sun_path + DIRECTORY_N, name, n);
  return connect_to(&address, DIRECTORY_N + n + 1);
}

// The descriptor in the answer, or -1.
static long receive(long fd, struct tide_door_answer *answer)
{
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct iovec part = {answer, sizeof *answer};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  long n;
  do
    n = TIDE_SYS(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
  while (n == -EINTR);
  struct cmsghdr *c = CMSG_FIRSTHDR(&message);
  if (n != sizeof *answer || answer->magic != TIDE_DOOR_MAGIC || answer->status || !c ||
      c->cmsg_type != SCM_RIGHTS)
    return -1;
  int received;
  memcpy(&received, CMSG_DATA(c), sizeof received);
  return received;
}

void *tide_door_store(const char *name, const struct tide_door_hello *hello, bool *ret_refused)
{
  struct tide_door_answer answer = {0};
  void *store = NULL;
  *ret_refused = false;
  long fd = connect_either(name), n;
  if (tide_sys_failed(fd))
    return NULL;
  do
    n = TIDE_SYS(SYS_sendto, fd, hello, sizeof *hello, MSG_NOSIGNAL, 0, 0);
  while (n == -EINTR);
  if (n == sizeof *hello) {
    long memory = receive(fd, &answer);
    if (memory >= 0) {
      store = map_store(memory, hello->store_bytes);
      TIDE_SYS(SYS_close, memory);
    }
    *ret_refused = answer.status != 0;
  }
  TIDE_SYS(SYS_close, fd);
  return store;
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
