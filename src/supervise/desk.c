// SPDX-License-Identifier: Apache-2.0
//
// The supervisor's side. Nothing here waits: a packet is there as a whole or not at all, and an
// answer that finds no room is dropped with its connection.
#define _GNU_SOURCE
#include "supervise/desk.h"

#include "base/alloc.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { GUESTS_MAX = 8 };

struct tide_desk {
  int listen_fd, epoll_fd;
  int guests[GUESTS_MAX]; // by when they came; -1: none
};

static bool listen_somewhere(int fd)
{
  uint64_t number;
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
    return false;
  int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, TIDE_DESK_NAME "%d-%016llx",
                   (int)getpid(), (unsigned long long)number);
  socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
  return !bind(fd, (struct sockaddr *)&at, bytes) && !listen(fd, GUESTS_MAX);
}

static bool add_to_epoll(const struct tide_desk *desk, int fd)
{
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  return !epoll_ctl(desk->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

struct tide_desk *tide_desk_open(void)
{
  struct tide_desk *desk = tide_alloc(sizeof *desk);
  *desk = (struct tide_desk){.listen_fd =
                                 socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                             .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
  for (size_t i = 0; i < GUESTS_MAX; i++)
    desk->guests[i] = -1;
  if (desk->listen_fd >= 0 && desk->epoll_fd >= 0 && listen_somewhere(desk->listen_fd) &&
      add_to_epoll(desk, desk->listen_fd))
    return desk;
  tide_desk_close(desk);
  return NULL;
}

void tide_desk_close(struct tide_desk *desk)
{
  if (!desk)
    return;
  for (size_t i = 0; i < GUESTS_MAX; i++)
    if (desk->guests[i] >= 0)
      close(desk->guests[i]);
  if (desk->listen_fd >= 0)
    close(desk->listen_fd);
  if (desk->epoll_fd >= 0)
    close(desk->epoll_fd);
  free(desk);
}

int tide_desk_fd(const struct tide_desk *desk)
{
  return desk->epoll_fd;
}

static void see_guest_off(struct tide_desk *desk, size_t i)
{
  close(desk->guests[i]);
  memmove(desk->guests + i, desk->guests + i + 1, (GUESTS_MAX - 1 - i) * sizeof *desk->guests);
  desk->guests[GUESTS_MAX - 1] = -1;
}

static void take_guests(struct tide_desk *desk)
{
  for (int fd; (fd = accept4(desk->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
    if (desk->guests[GUESTS_MAX - 1] >= 0)
      see_guest_off(desk, 0);
    size_t i = 0;
    while (desk->guests[i] >= 0)
      i++;
    desk->guests[i] = fd;
    if (!add_to_epoll(desk, fd))
      see_guest_off(desk, i);
  }
}

// Nobody, if the kernel does not say.
static struct ucred who_is(int fd)
{
  struct ucred who = {.uid = (uid_t)-1};
  socklen_t n = sizeof who;
  (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n);
  return who;
}

static void send_answer(int to, const struct tide_desk_answer *answer, int fd)
{
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct iovec part = {(void *)answer, sizeof *answer};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (fd >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answer_guest(int guest, struct tide_desk_ask *ask, tide_desk_answerer *answerer,
                         void *context)
{
  struct tide_desk_answer answer = {
      .magic = TIDE_DESK_MAGIC, .version = TIDE_DESK_VERSION, .status = TIDE_DESK_NOT_HERE};
  struct ucred who = who_is(guest);
  int fd = -1;
  ask->name[sizeof ask->name - 1] = 0;
  if (!ask->pid)
    ask->pid = (uint32_t)who.pid; // by the number that it has here
  if (ask->version == TIDE_DESK_VERSION)
    fd = answerer(context, ask, who.uid == geteuid() || who.uid == 0, &answer);
  send_answer(guest, &answer, fd);
  if (fd >= 0)
    close(fd);
}

// False: it has said nothing yet.
static bool hear_guest(int guest, tide_desk_answerer *answerer, void *context)
{
  struct tide_desk_ask ask;
  ssize_t n = recv(guest, &ask, sizeof ask, MSG_DONTWAIT);
  if (n == (ssize_t)sizeof ask && ask.magic == TIDE_DESK_MAGIC)
    answer_guest(guest, &ask, answerer, context);
  return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

void tide_desk_serve(struct tide_desk *desk, tide_desk_answerer *answerer, void *context)
{
  take_guests(desk);
  for (size_t i = GUESTS_MAX; i > 0; i--)
    if (desk->guests[i - 1] >= 0 && hear_guest(desk->guests[i - 1], answerer, context))
      see_guest_off(desk, i - 1);
}
