// SPDX-License-Identifier: Apache-2.0
//
// One message out, one answer with a descriptor in.
#define _GNU_SOURCE
#include "fake_recorder.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

int fake_recorder_connect(const char *name)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path + 1, name, strlen(name));
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length)) {
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
  }
  return fd;
}

int fake_recorder_receive(int connection)
{
  uint32_t answer[2] = {0};
  struct iovec data = {answer, sizeof answer};
  union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct msghdr message = {.msg_iov = &data,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
  ssize_t n = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (n != (ssize_t)sizeof answer || answer[0] != 0x45444954 || answer[1] || !head)
    return -1;
  int fd;
  memcpy(&fd, CMSG_DATA(head), sizeof fd);
  return fd;
}

int fake_recorder_ask(const char *name, const void *message, size_t n)
{
  int connection = fake_recorder_connect(name);
  if (connection < 0)
    return -1;
  int fd = send(connection, message, n, MSG_NOSIGNAL) == (ssize_t)n
               ? fake_recorder_receive(connection)
               : -1;
  close(connection);
  return fd;
}
