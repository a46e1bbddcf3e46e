// SPDX-License-Identifier: Apache-2.0
//
// A thread in each system call that waits. Nobody sends a signal but children that end, and that
// one is blocked: none of them may end with EINTR, none before its time, and none, made again with
// all of its time, so late that it has a quarter of the rounds of nanosleep(), which goes on where
// it was. Told to end, it prints what did.
//
// With an argument SIGCHLD is not blocked, and nobody asks for it; children of the first thread end
// all the time. The kernel keeps such a signal while the thread that made the child is traced, and
// wakes any other with it. Nobody calls vfork() then: that cannot be told apart (docs/limits.md).
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000000, WAIT_MS = 60 };

static atomic_bool stop;

static uint64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct timespec in_a_while(clockid_t clock)
{
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += WAIT_MS * MS;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static const struct timespec WHILE = {0, WAIT_MS *MS};
static const struct timeval WHILE_US = {0, WAIT_MS * 1000};

struct waiter {
  const char *name;
  long (*wait)(struct waiter *); // −1 and errno, or whatever the call says when nothing came
  int fds[2];
  long want; // what it says when its time is over; −1: it fails with
  int error; // this
  atomic_uint n, n_interrupted, n_wrong, n_early;
  long got;
  int got_error;
};

static int no_socket_timeout(int fd)
{
  return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &WHILE_US, sizeof WHILE_US) |
         setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &WHILE_US, sizeof WHILE_US);
}

static int pair(struct waiter *w, int kind)
{
  if (w->fds[1])
    return w->fds[0];
  socketpair(AF_UNIX, kind, 0, w->fds);
  no_socket_timeout(w->fds[0]);
  return w->fds[0];
}

static int listener(struct waiter *w)
{
  if (w->fds[0])
    return w->fds[0];
  w->fds[0] = socket(AF_INET, SOCK_STREAM, 0);
  listen(w->fds[0], 1);
  no_socket_timeout(w->fds[0]);
  return w->fds[0];
}

static int full_pair(struct waiter *w)
{
  static char bytes[4096];
  if (w->fds[1])
    return w->fds[0];
  pair(w, SOCK_STREAM);
  while (send(w->fds[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0)
    ;
  return w->fds[0];
}

static int other(struct waiter *w, int (*make)(void))
{
  if (!w->fds[0])
    w->fds[0] = make();
  return w->fds[0];
}

static int make_epoll(void)
{
  return epoll_create1(0);
}

static long w_epoll_wait(struct waiter *w)
{
  struct epoll_event e;
  return epoll_wait(other(w, make_epoll), &e, 1, WAIT_MS);
}
static long w_epoll_pwait(struct waiter *w)
{
  struct epoll_event e;
  sigset_t but_usr2;
  sigemptyset(&but_usr2);
  sigaddset(&but_usr2, SIGCHLD);
  return epoll_pwait(other(w, make_epoll), &e, 1, WAIT_MS, &but_usr2);
}
static long w_epoll_pwait2(struct waiter *w)
{
  struct epoll_event e;
  return syscall(SYS_epoll_pwait2, other(w, make_epoll), &e, 1, &WHILE, NULL, 8);
}
static long w_poll(struct waiter *w)
{
  (void)w;
  return poll(NULL, 0, WAIT_MS);
}
static long w_ppoll(struct waiter *w)
{
  (void)w;
  return ppoll(NULL, 0, &WHILE, NULL);
}
static long w_select(struct waiter *w)
{
  struct timeval t = WHILE_US;
  (void)w;
  return select(0, NULL, NULL, NULL, &t);
}
static long w_pselect(struct waiter *w)
{
  (void)w;
  return pselect(0, NULL, NULL, NULL, &WHILE, NULL);
}
static long w_nanosleep(struct waiter *w)
{
  (void)w;
  return nanosleep(&WHILE, NULL);
}
static long w_sleep_until(struct waiter *w)
{
  struct timespec t = in_a_while(CLOCK_MONOTONIC);
  (void)w;
  return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}
static long w_sem_timedwait(struct waiter *w)
{
  static sem_t sem;
  struct timespec t = in_a_while(CLOCK_REALTIME);
  (void)w;
  return sem_timedwait(&sem, &t);
}
static long w_cond_timedwait(struct waiter *w)
{
  static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  struct timespec t = in_a_while(CLOCK_REALTIME);
  (void)w;
  pthread_mutex_lock(&lock);
  int err = pthread_cond_timedwait(&cond, &lock, &t);
  pthread_mutex_unlock(&lock);
  return errno = err, err ? -1 : 0;
}
static long w_futex(struct waiter *w)
{
  static int word;
  (void)w;
  return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &WHILE, NULL, 0);
}
struct held {
  pthread_mutex_t lock;
  sem_t is_held;
};
static void *hold(void *arg)
{
  struct held *held = arg;
  pthread_mutex_lock(&held->lock);
  sem_post(&held->is_held);
  for (;;) // until the process ends: a lock whose owner has ended is not waited for
    pause();
}
static long w_lock_pi(struct waiter *w)
{
  static struct held held;
  static int made;
  if (!made++) {
    pthread_mutexattr_t a;
    pthread_t t;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&held.lock, &a);
    sem_init(&held.is_held, 0, 0);
    pthread_create(&t, NULL, hold, &held);
    while (sem_wait(&held.is_held))
      ;
  }
  struct timespec t = in_a_while(CLOCK_REALTIME);
  (void)w;
  int err = pthread_mutex_timedlock(&held.lock, &t);
  return errno = err, err ? -1 : 0;
}
static long w_semtimedop(struct waiter *w)
{
  static int id = -1;
  struct sembuf take = {0, -1, 0};
  (void)w;
  if (id < 0) {
    id = semget(IPC_PRIVATE, 1, 0600);
  }
  long got = semtimedop(id, &take, 1, &WHILE);
  if (stop) {
    int e = errno;
    semctl(id, 0, IPC_RMID);
    errno = e;
  }
  return got;
}
static long w_sigtimedwait(struct waiter *w)
{
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  (void)w;
  return sigtimedwait(&usr2, NULL, &WHILE);
}
static long w_io_getevents(struct waiter *w)
{
  static aio_context_t context;
  struct io_event e;
  (void)w;
  if (!context && syscall(SYS_io_setup, 4, &context))
    return 0;
  return syscall(SYS_io_getevents, context, 1, 1, &e, &WHILE);
}
static long w_io_pgetevents(struct waiter *w)
{
  static aio_context_t context;
  struct io_event e;
  (void)w;
  if (!context && syscall(SYS_io_setup, 4, &context))
    return 0;
  return syscall(SYS_io_pgetevents, context, 1, 1, &e, &WHILE, NULL);
}
static long w_mq(struct waiter *w)
{
  char bytes[64], name[64];
  struct mq_attr a = {.mq_maxmsg = 1, .mq_msgsize = sizeof bytes};
  if (!w->fds[0]) {
    snprintf(name, sizeof name, "/trials.%d", getpid());
    w->fds[0] = mq_open(name, O_RDWR | O_CREAT, 0600, &a);
    mq_unlink(name);
  }
  struct timespec t = in_a_while(CLOCK_REALTIME);
  return mq_timedreceive(w->fds[0], bytes, sizeof bytes, NULL, &t);
}
static long w_read(struct waiter *w)
{
  char c;
  return read(pair(w, SOCK_STREAM), &c, 1);
}
static long w_readv(struct waiter *w)
{
  char c;
  struct iovec v = {&c, 1};
  return readv(pair(w, SOCK_STREAM), &v, 1);
}
static long w_recv(struct waiter *w)
{
  char c;
  return recv(pair(w, SOCK_STREAM), &c, 1, 0);
}
static long w_recv_datagram(struct waiter *w)
{
  char c;
  return recv(pair(w, SOCK_DGRAM), &c, 1, 0);
}
static long w_recv_all(struct waiter *w)
{
  char c[9];
  return recv(pair(w, SOCK_SEQPACKET), c, 9, MSG_WAITALL);
}
static long w_recvmsg(struct waiter *w)
{
  char c;
  struct iovec v = {&c, 1};
  struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
  return recvmsg(pair(w, SOCK_STREAM), &m, 0);
}
static long w_recvmmsg(struct waiter *w)
{
  char c;
  struct iovec v = {&c, 1};
  struct mmsghdr m = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}};
  return recvmmsg(pair(w, SOCK_DGRAM), &m, 1, 0, NULL);
}
static long w_write(struct waiter *w)
{
  char c = 0;
  return write(full_pair(w), &c, 1);
}
static long w_writev(struct waiter *w)
{
  char c = 0;
  struct iovec v = {&c, 1};
  return writev(full_pair(w), &v, 1);
}
static long w_send(struct waiter *w)
{
  char c = 0;
  return send(full_pair(w), &c, 1, MSG_NOSIGNAL);
}
static long w_sendmsg(struct waiter *w)
{
  char c = 0;
  struct iovec v = {&c, 1};
  struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
  return sendmsg(full_pair(w), &m, MSG_NOSIGNAL);
}
static long w_sendmmsg(struct waiter *w)
{
  char c = 0;
  struct iovec v = {&c, 1};
  struct mmsghdr m = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}};
  return sendmmsg(full_pair(w), &m, 1, MSG_NOSIGNAL);
}
static long w_preadv2(struct waiter *w)
{
  char c;
  struct iovec v = {&c, 1};
  return preadv2(pair(w, SOCK_STREAM), &v, 1, -1, 0);
}
static long w_pwritev2(struct waiter *w)
{
  char c = 0;
  struct iovec v = {&c, 1};
  return pwritev2(full_pair(w), &v, 1, -1, 0);
}
static long w_sendfile(struct waiter *w)
{
  static int file = -1;
  off_t at = 0;
  if (file < 0) {
    file = memfd_create("sent", MFD_CLOEXEC);
    ftruncate(file, 100);
  }
  long got = sendfile(full_pair(w), file, &at, 100);
  return at ? 100 : got;
}
static long w_splice_out(struct waiter *w)
{
  static int pipe_fds[2];
  if (!pipe_fds[1]) {
    pipe2(pipe_fds, O_CLOEXEC);
    write(pipe_fds[1], "x", 1);
  }
  return splice(pipe_fds[0], NULL, full_pair(w), NULL, 1, 0);
}
static long w_splice_in(struct waiter *w)
{
  static int pipe_fds[2];
  if (!pipe_fds[1])
    pipe2(pipe_fds, O_CLOEXEC);
  return splice(pair(w, SOCK_STREAM), NULL, pipe_fds[1], NULL, 1, 0);
}
static long w_accept(struct waiter *w)
{
  return accept(listener(w), NULL, NULL);
}
static long w_accept4(struct waiter *w)
{
  return accept4(listener(w), NULL, NULL, SOCK_CLOEXEC);
}
static long w_connect(struct waiter *w)
{
  static struct sockaddr_un to = {.sun_family = AF_UNIX};
  if (!w->fds[0]) { // a listener whose queue is full
    w->fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(to.sun_path + 1, 60, "trials.%d", getpid());
    bind(w->fds[0], (struct sockaddr *)&to, sizeof to);
    listen(w->fds[0], 0);
    connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof to);
  }
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  no_socket_timeout(fd);
  long got = connect(fd, (struct sockaddr *)&to, sizeof to);
  int e = errno;
  close(fd);
  return errno = e, got;
}
static long w_uring(struct waiter *w)
{
  struct io_uring_params p = {0};
  static void *ring;
  if (!w->fds[0]) {
    w->fds[0] = (int)syscall(SYS_io_uring_setup, 4, &p);
    ring = w->fds[0] < 0 ? MAP_FAILED
                         : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, w->fds[0], 0);
  }
  if (w->fds[0] < 0)
    return errno = ETIME, -1;
  struct io_uring_getevents_arg arg = {.ts = (uint64_t)(uintptr_t)&WHILE};
  return syscall(SYS_io_uring_enter, w->fds[0], 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
                 &arg, sizeof arg);
}
static long timer_read(struct waiter *w, int make) // ends by itself
{
  if (!w->fds[0])
    w->fds[0] = timerfd_create(CLOCK_MONOTONIC, 0);
  (void)make;
  uint64_t n;
  timerfd_settime(w->fds[0], 0, &(struct itimerspec){.it_value = WHILE}, NULL);
  return read(w->fds[0], &n, sizeof n);
}
static long w_timerfd(struct waiter *w)
{
  return timer_read(w, 0);
}

// Those below wait for one of these, which takes its time.
static pid_t late_child(int status)
{
  pid_t pid = fork();
  if (!pid) {
    nanosleep(&WHILE, NULL);
    _exit(status);
  }
  return pid;
}
static long w_wait(struct waiter *w)
{
  int status;
  (void)w;
  pid_t pid = late_child(7);
  long got = waitpid(pid, &status, 0);
  return got < 0 ? got : WEXITSTATUS(status);
}
static long w_pipe(struct waiter *w)
{
  char c;
  int fds[2];
  (void)w;
  pipe2(fds, O_CLOEXEC);
  pid_t pid = late_child(0); // holds the other end until it ends
  close(fds[1]);
  long got = read(fds[0], &c, 1);
  int e = errno;
  close(fds[0]);
  waitpid(pid, NULL, 0);
  return errno = e, got;
}
static long w_flock(struct waiter *w)
{
  char name[64];
  snprintf(name, sizeof name, "lock.%d", getpid());
  if (!w->fds[0])
    w->fds[0] = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  int other_fd = open(name, O_RDWR | O_CLOEXEC);
  flock(other_fd, LOCK_EX);
  pid_t pid = late_child(0);
  close(other_fd);
  long got = flock(w->fds[0], LOCK_EX);
  int e = errno;
  flock(w->fds[0], LOCK_UN);
  waitpid(pid, NULL, 0);
  unlink(name);
  w->fds[0] = 0;
  return errno = e, got;
}
static long w_fallocate(struct waiter *w)
{
  if (!w->fds[0])
    w->fds[0] = memfd_create("room", MFD_CLOEXEC);
  long got = 0;
  for (int i = 0; i < 4 && !got; i++) {
    got = fallocate(w->fds[0], 0, 0, 32 << 20);
    int e = errno;
    ftruncate(w->fds[0], 0);
    errno = e;
  }
  return got;
}
static long w_vfork(struct waiter *w)
{
  int status;
  (void)w;
  nanosleep(&WHILE, NULL);
  pid_t pid = vfork();
  if (!pid) {
    syscall(SYS_nanosleep, &WHILE, NULL);
    _exit(9);
  }
  long got = waitpid(pid, &status, 0);
  return got < 0 ? got : WEXITSTATUS(status);
}

#define WAITER(name, ...)                                                                          \
  {                                                                                                \
#name, w_##name, {0, 0 }, __VA_ARGS__, 0, 0, 0, 0, 0, 0                                        \
  }
static struct waiter all[] = {
    WAITER(epoll_wait, 0, 0),
    WAITER(epoll_pwait, 0, 0),
    WAITER(epoll_pwait2, 0, 0),
    WAITER(poll, 0, 0),
    WAITER(ppoll, 0, 0),
    WAITER(select, 0, 0),
    WAITER(pselect, 0, 0),
    WAITER(nanosleep, 0, 0),
    WAITER(sleep_until, 0, 0),
    WAITER(sem_timedwait, -1, ETIMEDOUT),
    WAITER(cond_timedwait, -1, ETIMEDOUT),
    WAITER(futex, -1, ETIMEDOUT),
    WAITER(lock_pi, -1, ETIMEDOUT),
    WAITER(semtimedop, -1, EAGAIN),
    WAITER(sigtimedwait, -1, EAGAIN),
    WAITER(io_getevents, 0, 0),
    WAITER(io_pgetevents, 0, 0),
    WAITER(mq, -1, ETIMEDOUT),
    WAITER(read, -1, EAGAIN),
    WAITER(readv, -1, EAGAIN),
    WAITER(recv, -1, EAGAIN),
    WAITER(recv_datagram, -1, EAGAIN),
    WAITER(recv_all, -1, EAGAIN),
    WAITER(recvmsg, -1, EAGAIN),
    WAITER(recvmmsg, -1, EAGAIN),
    WAITER(write, -1, EAGAIN),
    WAITER(writev, -1, EAGAIN),
    WAITER(send, -1, EAGAIN),
    WAITER(sendmsg, -1, EAGAIN),
    WAITER(sendmmsg, -1, EAGAIN),
    WAITER(preadv2, -1, EAGAIN),
    WAITER(pwritev2, -1, EAGAIN),
    WAITER(sendfile, -1, EAGAIN),
    WAITER(splice_out, -1, EAGAIN),
    WAITER(splice_in, -1, EAGAIN),
    WAITER(accept, -1, EAGAIN),
    WAITER(accept4, -1, EAGAIN),
    WAITER(connect, -1, EAGAIN),
    WAITER(uring, -1, ETIME),
    WAITER(timerfd, 8, 0),
    WAITER(wait, 7, 0),
    WAITER(pipe, 0, 0),
    WAITER(flock, 0, 0),
    WAITER(fallocate, 0, 0),
    WAITER(vfork, 9, 0),
};
enum { N = sizeof all / sizeof *all };

static void *run(void *arg)
{
  struct waiter *w = arg;
  while (!stop) {
    uint64_t before = now_ns();
    errno = 0;
    long got = w->wait(w);
    int e = got < 0 ? errno : 0;
    uint64_t took = now_ns() - before;
    w->n++;
    free(malloc(w->n % 1000));
    if (got == w->want && (got >= 0 || e == w->error)) {
      w->n_early += took < (uint64_t)WAIT_MS * MS / 2 && w->wait != w_fallocate;
      continue;
    }
    w->n_interrupted += e == EINTR;
    w->n_wrong += e != EINTR;
    w->got = got;
    w->got_error = e;
  }
  return NULL;
}

// Until somebody has something to say: a child every fifth of a millisecond, that lives for some.
static void have_children(void)
{
  unsigned n = 0;
  for (struct pollfd in = {0, POLLIN, 0}; !poll(&in, 1, 0); n++) {
    pid_t pid = fork();
    if (!pid) {
      syscall(SYS_nanosleep, &(struct timespec){0, (n % 8 + 1) * MS}, NULL);
      _exit(0);
    }
    syscall(SYS_nanosleep, &(struct timespec){0, MS / 5}, NULL);
    while (waitpid(0, NULL, WNOHANG | __WNOTHREAD) > 0)
      ;
  }
  while (waitpid(0, NULL, __WNOTHREAD) > 0)
    ;
}

static unsigned least_rounds(void)
{
  for (int i = 0; i < N; i++)
    if (all[i].wait == w_nanosleep)
      return all[i].n / 4;
  abort();
}

int main(int argc, char **argv)
{
  pthread_t threads[N];
  sigset_t blocked;
  char c;
  (void)argv;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  if (argc < 2)
    sigaddset(&blocked, SIGCHLD);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  int n = argc < 2 ? N : N - 1; // without the last one, vfork
  for (int i = 0; i < n; i++)
    pthread_create(&threads[i], NULL, run, &all[i]);
  write(1, "ready\n", 6);
  if (argc > 1)
    have_children();
  while (read(0, &c, 1) == 1 && c != 'q')
    write(1, "ok\n", 3);
  stop = true;
  int bad = 0;
  for (int i = 0; i < n; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < n; i++) {
    struct waiter *w = &all[i];
    bool is_late = w->n < least_rounds() && w->wait != w_fallocate;
    if (getenv("SHOW"))
      printf("%s: %u calls\n", w->name, w->n);
    if (w->n_interrupted || w->n_wrong || w->n_early || is_late) {
      printf("%s: of %u calls %u interrupted, %u early, %u otherwise (%ld, errno %d)%s\n", w->name,
             w->n, w->n_interrupted, w->n_early, w->n_wrong, w->got, w->got_error,
             is_late ? ", far too late" : "");
      bad = 1;
    }
  }
  return bad;
}
