// SPDX-License-Identifier: Apache-2.0
//
// Serving the door. Connections that say nothing are kept waiting beside the others, a few of
// them: a broken visitor must not shut the door for the next.
#define _GNU_SOURCE
#include "capture/door.h"

#include "base/alloc.h"
#include "capture/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#define MIN_STORE_BYTES UINT64_C(4096)
#define FULL_PAUSE_MS 10
#define MAX_WAITING 64 // connections that have not said anything yet

struct tide_door {
  int listen_fds[2], stop_fd; // abstract, and in /tmp: -1 where that could not be made
  char name[TIDE_DOOR_NAME_BYTES];
  tide_door_receive *receive;
  void *context;
  pthread_t thread;
  bool serving;
  int waiting[MAX_WAITING];
  size_t n_waiting;
};

static void close_if_open(int fd)
{
  if (fd >= 0)
    close(fd);
}

int tide_door_make_store(uint64_t bytes)
{
  // Sealed against shrinking: a reader or the recorder itself would die of it. Kernels before 6.3
  // do not know NOEXEC_SEAL; later ones complain in the log when it is missing.
  int fd = memfd_create("tidemark", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL)
    fd = memfd_create("tidemark", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return -1;
  if (ftruncate(fd, (off_t)bytes)) {
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
  }
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return fd;
}

static bool make_name(char *name, struct tide_diag *diag)
{
  uint8_t random[16];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
    tide_fail_errno(diag, "cannot get random bytes for the recorder's socket");
    return false;
  }
  int n = snprintf(name, TIDE_DOOR_NAME_BYTES, "tidemark-%d-", (int)getpid());
  for (size_t i = 0; i < sizeof random; i++)
    n += snprintf(name + n, TIDE_DOOR_NAME_BYTES - (size_t)n, "%02x", random[i]);
  return true;
}

static void path_of(const struct tide_door *door, struct sockaddr_un *ret_address)
{
  *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
  snprintf(ret_address->sun_path, sizeof ret_address->sun_path, "%s%s", TIDE_DOOR_DIRECTORY,
           door->name);
}

static int listen_at(const struct sockaddr_un *address, socklen_t length)
{
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && (bind(fd, (const struct sockaddr *)address, length) || listen(fd, SOMAXCONN))) {
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
  }
  return fd;
}

// Who may come in is decided when they do, as for the abstract one. Without a /tmp to write to
// there is none, and that is no failure.
static int listen_in_tmp(const struct tide_door *door)
{
  struct sockaddr_un address;
  path_of(door, &address);
  int fd = listen_at(&address, sizeof address);
  if (fd >= 0)
    chmod(address.sun_path, 0666);
  return fd;
}

enum tide_err tide_door_open(struct tide_door **ret_door, struct tide_diag *diag)
{
  struct tide_door *door = tide_alloc(sizeof *door);
  door->listen_fds[0] = door->listen_fds[1] = door->stop_fd = -1;
  if (!make_name(door->name, diag)) {
    tide_door_close(door);
    return TIDE_ERR_SYSTEM;
  }
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t n = strlen(door->name);
  memcpy(address.sun_path + 1, door->name, n); // a leading NUL: abstract, no file
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
  door->listen_fds[0] = listen_at(&address, length);
  door->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (door->listen_fds[0] < 0 || door->stop_fd < 0) {
    enum tide_err err = tide_fail_errno(diag, "cannot open a socket for the recorder");
    tide_door_close(door);
    return err;
  }
  tide_door_sweep(TIDE_DOOR_DIRECTORY);
  door->listen_fds[1] = listen_in_tmp(door);
  *ret_door = door;
  return TIDE_ERR_OK;
}

const char *tide_door_name(const struct tide_door *door)
{
  return door->name;
}

static void answer(int connection, uint32_t status, int store_fd)
{
  struct tide_door_answer text = {TIDE_DOOR_MAGIC, status};
  struct iovec data = {&text, sizeof text};
  union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
  if (store_fd >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &store_fd, sizeof(int));
  }
  // A visitor that died meanwhile is none of our business.
  (void)sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool request_is_valid(const struct tide_door_request *request, ssize_t n)
{
  return n == (ssize_t)sizeof *request && request->magic == TIDE_DOOR_MAGIC &&
         request->version == TIDE_DOOR_VERSION && request->store_bytes >= MIN_STORE_BYTES &&
         request->store_bytes <= TIDE_DOOR_MAX_STORE_BYTES;
}

// Field 22 of /proc/PID/stat.
static uint64_t start_of(pid_t pid)
{
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  close_if_open(fd);
  text[n > 0 ? n : 0] = 0;
  const char *at = strrchr(text, ')'); // the name before may hold anything
  for (int field = 2; at && field < 22; field++)
    at = strchr(at + 1, ' ');
  return at ? strtoull(at, NULL, 10) : 0;
}

// The door's name is no secret: /proc/net/unix shows it to everybody. A user's run takes in that
// user's processes; root's must take in all, for they may have become somebody else.
static bool is_welcome(const struct ucred *peer)
{
  uid_t own = geteuid();
  return own == 0 || peer->uid == own || peer->uid == 0;
}

// We may have been stopped for longer than a recorder waits: then it has gone, and runs without.
static bool has_left(int connection)
{
  struct pollfd peer = {connection, POLLRDHUP, 0};
  return poll(&peer, 1, 0) == 1;
}

static void serve_one(struct tide_door *door, int connection,
                      const struct tide_door_request *request)
{
  struct ucred peer = {.uid = (uid_t)-1};
  socklen_t length = sizeof peer;
  getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length);
  bool welcome = is_welcome(&peer);
  if (has_left(connection)) {
    struct tide_door_visit over = {.pid_fd = -1, .store_fd = -1};
    if (welcome && !(request->flags & TIDE_DOOR_FORKED)) // a fork child has counted itself
      door->receive(door->context, &over);
    return;
  }
  int store_fd = welcome ? tide_door_make_store(request->store_bytes) : -1;
  if (store_fd < 0) {
    struct tide_door_visit without = {.pid_fd = -1, .store_fd = -1, .store_errno = errno};
    answer(connection, 1, -1);
    if (welcome)
      door->receive(door->context, &without);
    return;
  }
  // The visitor waits for our answer, so its pid cannot have been given to anybody else yet.
  struct tide_door_visit visit = {
      .pid = peer.pid > 0 ? (uint32_t)peer.pid : 0,
      .told_pid = request->pid,
      .told_parent_pid = request->parent_pid,
      .flags = request->flags,
      .pid_fd = peer.pid > 0 ? (int)syscall(SYS_pidfd_open, peer.pid, 0) : -1,
      .store_fd = fcntl(store_fd, F_DUPFD_CLOEXEC, 0),
      .time_ns = tide_monotonic_ns(),
      .born = peer.pid > 0 ? start_of(peer.pid) : 0,
  };
  if (visit.store_fd >= 0 && door->receive(door->context, &visit)) {
    answer(connection, 0, store_fd);
  } else {
    close_if_open(visit.pid_fd);
    close_if_open(visit.store_fd);
    answer(connection, 1, -1);
  }
  close(store_fd);
}

// False: nothing has been said yet.
static bool try_serve(struct tide_door *door, int connection)
{
  struct tide_door_request request;
  ssize_t n = recv(connection, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return false;
  if (request_is_valid(&request, n))
    serve_one(door, connection, &request);
  else if (n > 0)
    answer(connection, 1, -1);
  close(connection);
  return true;
}

static void accept_all(struct tide_door *door, int listen_fd)
{
  for (;;) {
    int connection = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) {
      if (errno == EMFILE || errno == ENFILE) // no use in trying again at once
        poll(&(struct pollfd){door->stop_fd, POLLIN, 0}, 1, FULL_PAUSE_MS);
      return;
    }
    if (try_serve(door, connection))
      continue;
    if (door->n_waiting == MAX_WAITING) { // the one that has been silent longest goes
      close(door->waiting[0]);
      door->n_waiting--;
      memmove(door->waiting, door->waiting + 1, door->n_waiting * sizeof *door->waiting);
    }
    door->waiting[door->n_waiting++] = connection;
  }
}

static void serve_waiting(struct tide_door *door)
{
  size_t kept = 0;
  for (size_t i = 0; i < door->n_waiting; i++)
    if (!try_serve(door, door->waiting[i]))
      door->waiting[kept++] = door->waiting[i];
  door->n_waiting = kept;
}

static void *serve(void *context)
{
  struct tide_door *door = context;
  for (;;) {
    struct pollfd fds[3 + MAX_WAITING] = {{door->stop_fd, POLLIN, 0},
                                          {door->listen_fds[0], POLLIN, 0},
                                          {door->listen_fds[1], POLLIN, 0}}; // -1 is passed over
    for (size_t i = 0; i < door->n_waiting; i++)
      fds[3 + i] = (struct pollfd){door->waiting[i], POLLIN, 0};
    if (poll(fds, 3 + door->n_waiting, -1) < 0 && errno != EINTR)
      return NULL;
    if (fds[0].revents)
      return NULL;
    serve_waiting(door);
    accept_all(door, door->listen_fds[0]);
    if (door->listen_fds[1] >= 0)
      accept_all(door, door->listen_fds[1]);
  }
}

enum tide_err tide_door_serve(struct tide_door *door, tide_door_receive *receive, void *context,
                              struct tide_diag *diag)
{
  door->receive = receive;
  door->context = context;
  int error = pthread_create(&door->thread, NULL, serve, door);
  if (error) {
    errno = error;
    return tide_fail_errno(diag, "cannot start a thread");
  }
  door->serving = true;
  return TIDE_ERR_OK;
}

void tide_door_close(struct tide_door *door)
{
  if (!door)
    return;
  if (door->serving) {
    eventfd_write(door->stop_fd, 1);
    pthread_join(door->thread, NULL);
  }
  for (size_t i = 0; i < door->n_waiting; i++)
    close(door->waiting[i]);
  close_if_open(door->listen_fds[0]);
  if (door->listen_fds[1] >= 0) {
    struct sockaddr_un address;
    path_of(door, &address);
    unlink(address.sun_path);
    close(door->listen_fds[1]);
  }
  close_if_open(door->stop_fd);
  free(door);
}
