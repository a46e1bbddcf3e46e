// SPDX-License-Identifier: Apache-2.0
//
// Serving the door. Whoever connects is judged first, by the kernel's word: strangers are answered
// and closed at once and take up no room, so that a flood of them costs the run time, never a
// recording. Of the run's own, connections that say nothing are kept waiting beside the others, a
// few of them: a broken visitor must not shut the door for the next.
#define _GNU_SOURCE
#include "supervise/door.h"

#include "base/alloc.h"
#include "observe/clock.h"
#include "base/proc.h"
#include "supervise/pidfd.h"

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
#define BACKLOG 64     // whoever comes after that many strangers waits in turn, but not for long
#define MAX_ROUND 64   // strangers taken before the others have their turn
#define MAX_LAST 1024  // taken when the run is over

struct visitor { // one of the run's own
  int connection;
  int pid_fd; // -1: not known yet
  uint32_t pid;
  uint64_t identity, born; // of struct tide_door_visit
};

struct message {
  struct tide_door_hello request;
  char path[TIDE_DOOR_PATH_BYTES]; // ends in NUL: the last byte is never received
};

struct tide_door {
  int listen_fds[2], stop_fd; // abstract, and in /tmp: -1 where that could not be made
  char name[TIDE_DOOR_NAME_BYTES];
  tide_door_receive *receive;
  void *context;
  pthread_t thread;
  bool serving;
  struct tide_kin *kin;
  struct visitor waiting[MAX_WAITING];
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
  if (fd >= 0 && (bind(fd, (const struct sockaddr *)address, length) || listen(fd, BACKLOG))) {
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

static void answer_hello(int connection, uint32_t status, int store_fd)
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

// A request for a store, or a word about an image that goes without, its program's path behind it.
static bool request_is_valid(const struct message *message, size_t n)
{
  const struct tide_door_hello *request = &message->request;
  if (n < sizeof *request || request->magic != TIDE_DOOR_MAGIC ||
      request->version != TIDE_DOOR_VERSION)
    return false;
  if (request->flags & TIDE_DOOR_WORD_ONLY)
    return n <= sizeof *message - 1 && request->why < TIDE_WHY_N;
  return n == sizeof *request && request->store_bytes >= MIN_STORE_BYTES &&
         request->store_bytes <= TIDE_DOOR_MAX_STORE_BYTES;
}

// A user's run takes in that user's processes; root's may have become somebody else. Everybody else
// is turned away by their user id alone, which costs nothing.
static bool has_welcome_user(const struct ucred *peer)
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

// A path as the visitor gave it to exec, from the root on as far as its directory is known.
static void make_absolute(uint32_t pid, char path[TIDE_DOOR_PATH_BYTES])
{
  char link[64], directory[TIDE_DOOR_PATH_BYTES], given[TIDE_DOOR_PATH_BYTES];
  if (!*path || *path == '/')
    return;
  snprintf(link, sizeof link, "/proc/%u/cwd", pid);
  ssize_t n = readlink(link, directory, sizeof directory);
  if (n <= 0)
    return;
  memcpy(given, path, sizeof given);
  const char *name = strncmp(given, "./", 2) == 0 ? given + 2 : given;
  if ((size_t)n + 1 + strlen(name) < TIDE_DOOR_PATH_BYTES)
    sprintf(path, "%.*s%s%s", (int)n, directory, n > 1 ? "/" : "", name);
}

// The thread that calls exec, by our numbers: 0 where they are not known to be the visitor's.
static pid_t thread_of(const struct visitor *visitor, const struct tide_door_hello *request)
{
  char name[64];
  uint32_t own = request->parent_pid;
  if (request->store_bytes == own)
    return (pid_t)visitor->pid;
  snprintf(name, sizeof name, "/proc/%u/task/%u", visitor->pid, (uint32_t)request->store_bytes);
  return own == visitor->pid && !access(name, F_OK) ? (pid_t)request->store_bytes : 0;
}

// When it began, of one that need not have been asked.
static uint64_t born_of(const struct visitor *visitor)
{
  struct tide_proc_stat stat;
  return visitor->born || !visitor->pid || !tide_proc_stat(visitor->pid, &stat) ? visitor->born
                                                                                : stat.born;
}

static void take_word(struct tide_door *door, const struct visitor *visitor,
                      struct message *message)
{
  const struct tide_door_hello *request = &message->request;
  make_absolute(visitor->pid, message->path);
  // Of a process that it started, the visitor knows the number, which is ours if its own is.
  bool is_own = request->pid == request->parent_pid;
  bool same_numbers = request->parent_pid == visitor->pid;
  struct tide_door_visit visit = {
      .pid = is_own         ? visitor->pid
             : same_numbers ? request->pid
                            : 0,
      .told_pid = request->pid,
      .flags = request->flags,
      .pid_fd = -1,
      .store_fd = -1,
      .time_ns = tide_monotonic_ns(),
      .born = is_own ? born_of(visitor) : 0,
      .why = (enum tide_why)request->why,
      .exe = message->path,
      .teller_pid = visitor->pid,
  };
  struct tide_proc_stat child;
  if (!is_own && visit.pid && tide_proc_stat(visit.pid, &child) && child.parent == visitor->pid)
    visit.born = child.born;
  else if (!is_own)
    visit.pid = 0; // it has ended already, or is not what was said
  visit.tid = thread_of(visitor, request);
  bool is_seen_to = door->receive(door->context, &visit);
  answer_hello(visitor->connection, is_seen_to ? TIDE_DOOR_TAKEN : TIDE_DOOR_GIVEN, -1);
}

// Turns a visitor that gets no store into a word about itself. A path that is NULL is its program.
static void tell_of(struct tide_door *door, const struct visitor *visitor, enum tide_why why,
                    const char *path)
{
  char exe[TIDE_DOOR_PATH_BYTES] = "";
  if (!path && !tide_proc_exe(visitor->pid, exe, sizeof exe))
    *exe = 0;
  struct tide_door_visit visit = {
      .pid = visitor->pid,
      .told_pid = visitor->pid,
      .flags = TIDE_DOOR_ABSENT,
      .pid_fd = -1,
      .store_fd = -1,
      .time_ns = tide_monotonic_ns(),
      .born = born_of(visitor),
      .why = why,
      .exe = path ? path : exe,
      .teller_pid = visitor->pid,
  };
  door->receive(door->context, &visit);
}

static void give_store(struct tide_door *door, struct visitor *visitor,
                       const struct tide_door_hello *request)
{
  bool has_gone = has_left(visitor->connection);
  if (has_gone && request->flags & TIDE_DOOR_FORKED) // it has counted itself
    return;
  int store_fd = has_gone ? -1 : tide_door_make_store(request->store_bytes);
  // The visitor waits for our answer, so its pid cannot have been given to anybody else yet.
  if (visitor->pid_fd < 0 && visitor->pid)
    visitor->pid_fd = (int)syscall(SYS_pidfd_open, visitor->pid, 0);
  struct tide_door_visit visit = {
      .pid = visitor->pid,
      .told_pid = request->pid,
      .told_parent_pid = request->parent_pid,
      .flags = request->flags,
      .pid_fd = visitor->pid_fd,
      .store_fd = store_fd < 0 ? -1 : fcntl(store_fd, F_DUPFD_CLOEXEC, 0),
      .time_ns = tide_monotonic_ns(),
      .identity = visitor->identity,
      .born = visitor->born,
  };
  visit.store_errno = visit.store_fd < 0 && !has_gone ? errno : 0;
  struct stat st;
  if (door->receive(door->context, &visit)) {
    if (!fstat(store_fd, &st))
      tide_kin_gave_store(door->kin, st.st_ino);
    visitor->pid_fd = -1;
    answer_hello(visitor->connection, TIDE_DOOR_GIVEN, store_fd);
  } else {
    close_if_open(visit.store_fd);
    answer_hello(visitor->connection, TIDE_DOOR_TURNED_AWAY, -1);
  }
  close_if_open(store_fd);
}

static void see_off(const struct visitor *visitor)
{
  close(visitor->connection);
  close_if_open(visitor->pid_fd);
}

// False: nothing has been said yet.
static bool try_serve(struct tide_door *door, struct visitor *visitor)
{
  struct message message = {0};
  ssize_t n = recv(visitor->connection, &message, sizeof message - 1, MSG_DONTWAIT | MSG_TRUNC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return false;
  if (n == 0) // it saw who listens here, did not believe that, and left: record/door.c
    tell_of(door, visitor, TIDE_WHY_NAMESPACE, NULL);
  else if (n < 0 || !request_is_valid(&message, (size_t)n))
    answer_hello(visitor->connection, TIDE_DOOR_TURNED_AWAY, -1);
  else if (message.request.flags & TIDE_DOOR_WORD_ONLY)
    take_word(door, visitor, &message);
  else
    give_store(door, visitor, &message.request);
  see_off(visitor);
  return true;
}

// Was it given the variables of this run?
static bool names_door(const struct tide_door *door, uint32_t pid)
{
  char variable[sizeof "socket=" + TIDE_DOOR_NAME_BYTES];
  snprintf(variable, sizeof variable, "socket=%s", door->name);
  return pid && tide_proc_environment_holds(pid, variable);
}

// A child of one that is known to belong is taken by the kernel's word on its parent.
static bool is_adopted(struct tide_door *door, struct visitor *visitor)
{
  struct tide_pid_origin origin;
  visitor->pid_fd = visitor->pid ? tide_pid_fd_of_peer(visitor->connection) : -1;
  if (!tide_pid_origin(visitor->pid_fd, visitor->pid, &origin))
    return false;
  visitor->identity = origin.identity;
  return tide_kin_adopts(door->kin, visitor->pid, origin.parent);
}

// Judges whoever connected before anything is read or kept: only the run's own take up room.
static bool admit(struct tide_door *door, struct visitor *visitor)
{
  struct ucred peer = {.uid = (uid_t)-1};
  socklen_t length = sizeof peer;
  getsockopt(visitor->connection, SOL_SOCKET, SO_PEERCRED, &peer, &length);
  visitor->pid = peer.pid > 0 ? (uint32_t)peer.pid : 0;
  uint64_t n_refused = tide_kin_n_refused(door->kin);
  if (has_welcome_user(&peer) &&
      (is_adopted(door, visitor) || tide_kin_belongs(door->kin, visitor->pid, &visitor->born)))
    return true;
  // It ended before we looked (we may have been stopped), so the kernel cannot say whose it was.
  // One of our own user's counts as one that was not recorded.
  if (peer.uid == geteuid() && visitor->pid && !visitor->born && has_left(visitor->connection))
    return true;
  if (!has_welcome_user(&peer))
    tide_kin_count_stranger(door->kin, visitor->pid);
  // Once of each process, whatever a flood of them costs: its variables may be the run's. What
  // another user's program is called is not for the report.
  if (tide_kin_n_refused(door->kin) > n_refused && names_door(door, visitor->pid))
    tell_of(door, visitor, TIDE_WHY_OUTSIDE, peer.uid == geteuid() ? NULL : "");
  // What it said is read, or closing would take the answer back with an error.
  struct message ignored;
  (void)!recv(visitor->connection, &ignored, sizeof ignored, MSG_DONTWAIT | MSG_TRUNC);
  answer_hello(visitor->connection, TIDE_DOOR_NOT_OF_THE_RUN, -1);
  see_off(visitor);
  return false;
}

// Makes room among the silent: of the process that has most of them, the oldest goes.
static void drop_one(struct tide_door *door)
{
  size_t most = 0, victim = 0;
  for (size_t i = 0; i < door->n_waiting; i++) {
    size_t n = 0;
    for (size_t k = i; k < door->n_waiting; k++)
      n += door->waiting[k].pid == door->waiting[i].pid;
    if (n > most) {
      most = n;
      victim = i;
    }
  }
  see_off(&door->waiting[victim]);
  door->n_waiting--;
  memmove(door->waiting + victim, door->waiting + victim + 1,
          (door->n_waiting - victim) * sizeof *door->waiting);
}

// Of the run's own one at a time, as the next has rarely come yet, and asking in vain costs as much
// as a visit's answer. Of strangers so many at once: those that wait, and the other socket, come in
// turn.
static void accept_some(struct tide_door *door, int listen_fd)
{
  for (int i = 0; i < MAX_ROUND; i++) {
    struct visitor visitor = {
        .connection = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), .pid_fd = -1};
    if (visitor.connection < 0) {
      if (errno == EMFILE || errno == ENFILE) // no use in trying again at once
        poll(&(struct pollfd){door->stop_fd, POLLIN, 0}, 1, FULL_PAUSE_MS);
      return;
    }
    if (!admit(door, &visitor))
      continue;
    if (try_serve(door, &visitor))
      return;
    if (door->n_waiting == MAX_WAITING)
      drop_one(door);
    door->waiting[door->n_waiting++] = visitor;
    return;
  }
}

static void serve_waiting(struct tide_door *door)
{
  size_t kept = 0;
  for (size_t i = 0; i < door->n_waiting; i++)
    if (!try_serve(door, &door->waiting[i]))
      door->waiting[kept++] = door->waiting[i];
  door->n_waiting = kept;
}

// When the run is over: who came and went before it was, and nobody has looked at yet. Whoever
// still waits for an answer gets none.
static void serve_last(struct tide_door *door)
{
  size_t kept = 0;
  for (size_t i = 0; i < door->n_waiting; i++)
    if (!has_left(door->waiting[i].connection) || !try_serve(door, &door->waiting[i]))
      door->waiting[kept++] = door->waiting[i];
  door->n_waiting = kept;
  for (int i = 0; i < 2; i++)
    for (int n = 0; n < MAX_LAST; n++) {
      struct visitor visitor = {
          .connection = accept4(door->listen_fds[i], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK),
          .pid_fd = -1};
      if (visitor.connection < 0)
        break;
      if (!has_left(visitor.connection) || (admit(door, &visitor) && !try_serve(door, &visitor)))
        see_off(&visitor);
    }
}

static void *serve(void *context)
{
  struct tide_door *door = context;
  for (;;) {
    struct pollfd fds[3 + MAX_WAITING] = {{door->stop_fd, POLLIN, 0},
                                          {door->listen_fds[0], POLLIN, 0},
                                          {door->listen_fds[1], POLLIN, 0}}; // -1 is passed over
    for (size_t i = 0; i < door->n_waiting; i++)
      fds[3 + i] = (struct pollfd){door->waiting[i].connection, POLLIN, 0};
    if (poll(fds, 3 + door->n_waiting, -1) < 0 && errno != EINTR)
      return NULL;
    if (fds[0].revents) {
      serve_last(door);
      return NULL;
    }
    serve_waiting(door);
    for (int i = 0; i < 2; i++)
      if (fds[1 + i].revents)
        accept_some(door, door->listen_fds[i]);
  }
}

enum tide_err tide_door_serve(struct tide_door *door, struct tide_kin *kin,
                              tide_door_receive *receive, void *context, struct tide_diag *diag)
{
  door->kin = kin;
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
    see_off(&door->waiting[i]);
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
