// SPDX-License-Identifier: Apache-2.0
//
// The side of who asks. The names of all desks of this network namespace are in /proc/net/unix; who
// is behind one is the kernel's word, and what another user's says is not believed.
#define _GNU_SOURCE
#include "supervise/desk.h"

#include "base/alloc.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_MS = 60000, NAME_BYTES = 100 };
#define LISTENS 0x10000u // in the flags of a line there

struct desk_names {
  char (*names)[NAME_BYTES];
  size_t n, cap;
};

static struct desk_names find_desks(void)
{
  struct desk_names found = {0};
  char line[512];
  FILE *file = fopen("/proc/net/unix", "re");
  while (file && fgets(line, sizeof line, file)) {
    const char *at = strstr(line, " @" TIDE_DESK_NAME);
    unsigned flags = 0; // those who are connected have its name, too
    if (!at || sscanf(line, "%*s %*s %*s %x", &flags) != 1 || !(flags & LISTENS))
      continue;
    TIDE_GROW(found.names, found.n, found.cap);
    snprintf(found.names[found.n++], NAME_BYTES, "%.*s", (int)strcspn(at + 2, "\n"), at + 2);
  }
  if (file)
    fclose(file);
  return found;
}

static int connect_to(const char *name)
{
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  size_t n = strnlen(name, sizeof at.sun_path - 1);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  memcpy(at.sun_path + 1, name, n);
  socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
  if (fd >= 0 && !connect(fd, (struct sockaddr *)&at, bytes))
    return fd;
  if (fd >= 0)
    close(fd);
  return -1;
}

// What root is told by a user's desk is about that user's own processes.
static bool is_believed(int fd, uid_t *ret_uid)
{
  struct ucred who;
  socklen_t n = sizeof who;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n))
    return false;
  *ret_uid = who.uid;
  return who.uid == geteuid() || who.uid == 0 || geteuid() == 0;
}

static bool receive_answer(int from, struct tide_desk_answer *ret_answer, int *ret_fd)
{
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct iovec part = {ret_answer, sizeof *ret_answer};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct pollfd answered = {from, POLLIN, 0};
  *ret_fd = -1;
  if (poll(&answered, 1, ANSWER_MS) != 1)
    return false;
  ssize_t n = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
  const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
      c->cmsg_len == CMSG_LEN(sizeof *ret_fd))
    memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
  ret_answer->text[sizeof ret_answer->text - 1] = 0;
  return n == (ssize_t)sizeof *ret_answer && ret_answer->magic == TIDE_DESK_MAGIC;
}

// TIDE_ERR_NOT_FOUND: it is not this one's.
static enum tide_err ask_desk(const char *name, const struct tide_desk_ask *ask,
                              struct tide_desk_answer *answer, int *ret_fd, struct tide_diag *diag)
{
  uid_t uid = 0;
  int fd = connect_to(name);
  if (fd < 0)
    return TIDE_ERR_NOT_FOUND; // it has ended since
  bool is_heard = send(fd, ask, sizeof *ask, MSG_NOSIGNAL) == (ssize_t)sizeof *ask &&
                  receive_answer(fd, answer, ret_fd);
  bool is_ours = is_believed(fd, &uid);
  close(fd);
  enum tide_err err = TIDE_ERR_NOT_FOUND;
  if (is_heard && answer->version != TIDE_DESK_VERSION && is_ours)
    tide_fail(diag, err, "a tidemark of another version records here and cannot be asked");
  else if (is_heard && answer->status == TIDE_DESK_DENIED)
    err = tide_fail(diag, TIDE_ERR_SYSTEM,
                    "process %u is recorded by a tidemark of another user (uid %u): ask as that "
                    "user, or as root",
                    ask->pid, (unsigned)uid);
  else if (is_heard && is_ours && answer->status == TIDE_DESK_FAILED)
    err = tide_fail(diag, TIDE_ERR_SYSTEM, "%s", answer->text);
  else if (is_heard && is_ours && answer->status == TIDE_DESK_DONE)
    return TIDE_ERR_OK;
  if (*ret_fd >= 0)
    close(*ret_fd);
  *ret_fd = -1;
  return err;
}

enum tide_err tide_desk_call(const struct tide_desk_ask *ask, struct tide_desk_answer *ret_answer,
                             int *ret_fd, struct tide_diag *diag)
{
  struct desk_names found = find_desks();
  enum tide_err err = tide_fail(diag, TIDE_ERR_NOT_FOUND, "no recording has process %u", ask->pid);
  *ret_fd = -1;
  for (size_t i = 0; i < found.n && err == TIDE_ERR_NOT_FOUND; i++)
    err = ask_desk(found.names[i], ask, ret_answer, ret_fd, diag);
  free(found.names);
  return err;
}
