// SPDX-License-Identifier: Apache-2.0
//
// A thread in each system call that waits without a time limit, and one that wakes them all, again
// and again. Nobody is sent a signal that is not waited for: none of the calls may end with EINTR,
// and each ends once for every time that it is woken. Told to end, it prints what did not.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUND_US = 15000, PATIENCE_US = 20000000 };

static atomic_bool stop;
static char folder[64];

struct waiter {
  const char *name;
  void (*make)(struct waiter *);
  long (*wait)(struct waiter *);
  void (*wake)(struct waiter *);
  long want;
  int fds[2];
  int id;
  pthread_t thread;
  atomic_uint given, n, n_interrupted, n_wrong;
  long got;
  int got_error;
};

// ---- an eventfd, waited for in many ways ----

static void make_event(struct waiter *w)
{
  struct epoll_event e = {.events = EPOLLIN};
  w->fds[0] = eventfd(0, EFD_SEMAPHORE);
  w->fds[1] = epoll_create1(0);
  epoll_ctl(w->fds[1], EPOLL_CTL_ADD, w->fds[0], &e);
}
static void wake_event(struct waiter *w)
{
  eventfd_write(w->fds[0], 1);
}
static long taken(struct waiter *w, long got)
{
  eventfd_t one;
  int e = errno;
  if (got > 0)
    eventfd_read(w->fds[0], &one);
  return errno = e, got;
}
static long w_eventfd(struct waiter *w)
{
  eventfd_t one;
  return read(w->fds[0], &one, sizeof one);
}
static long w_epoll_wait(struct waiter *w)
{
  struct epoll_event e;
  return taken(w, epoll_wait(w->fds[1], &e, 1, -1));
}
static long w_epoll_pwait(struct waiter *w)
{
  struct epoll_event e;
  sigset_t none;
  pthread_sigmask(SIG_SETMASK, NULL, &none);
  return taken(w, epoll_pwait(w->fds[1], &e, 1, -1, &none));
}
static long w_epoll_pwait2(struct waiter *w)
{
  struct epoll_event e;
  return taken(w, syscall(SYS_epoll_pwait2, w->fds[1], &e, 1, NULL, NULL, 8));
}
static long w_poll(struct waiter *w)
{
  struct pollfd p = {w->fds[0], POLLIN, 0};
  return taken(w, poll(&p, 1, -1));
}
static long w_ppoll(struct waiter *w)
{
  struct pollfd p = {w->fds[0], POLLIN, 0};
  return taken(w, ppoll(&p, 1, NULL, NULL));
}
static long w_select(struct waiter *w)
{
  fd_set set;
  FD_ZERO(&set);
  FD_SET(w->fds[0], &set);
  return taken(w, select(w->fds[0] + 1, &set, NULL, NULL, NULL));
}
static long w_pselect(struct waiter *w)
{
  fd_set set;
  FD_ZERO(&set);
  FD_SET(w->fds[0], &set);
  return taken(w, pselect(w->fds[0] + 1, &set, NULL, NULL, NULL, NULL));
}

struct ring {
  struct io_uring_sqe *entries;
  unsigned *sq_tail, *cq_head, *cq_tail;
  uint64_t word;
};

static struct ring ring;

static void make_ring(struct waiter *w)
{
  struct io_uring_params p = {0};
  make_event(w);
  w->id = (int)syscall(SYS_io_uring_setup, 4, &p);
  if (w->id < 0)
    return;
  char *queue = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, w->id, IORING_OFF_SQ_RING);
  ring.entries = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, w->id, IORING_OFF_SQES);
  unsigned *array = (unsigned *)(queue + p.sq_off.array);
  array[0] = array[1] = array[2] = array[3] = 0;
  ring.sq_tail = (unsigned *)(queue + p.sq_off.tail);
  ring.cq_head = (unsigned *)(queue + p.cq_off.head);
  ring.cq_tail = (unsigned *)(queue + p.cq_off.tail);
}
// The read is asked for once; what it is waited for with may be called again.
static long w_uring(struct waiter *w)
{
  if (w->id < 0)
    return w_eventfd(w), 0;
  if (!ring.word) {
    ring.entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                            .fd = w->fds[0],
                                            .addr = (uint64_t)(uintptr_t)&ring.word,
                                            .len = sizeof ring.word};
    ring.word = UINT64_MAX;
    __atomic_fetch_add(ring.sq_tail, 1, __ATOMIC_RELEASE);
    syscall(SYS_io_uring_enter, w->id, 1, 0, 0, NULL, 0);
  }
  long got = syscall(SYS_io_uring_enter, w->id, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
  if (got >= 0) {
    __atomic_store_n(ring.cq_head, __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE),
                     __ATOMIC_RELEASE);
    ring.word = 0;
  }
  return got;
}

// ---- sockets and pipes ----

static void make_pair(struct waiter *w)
{
  socketpair(AF_UNIX, SOCK_DGRAM, 0, w->fds);
}
static void make_pipe(struct waiter *w)
{
  pipe2(w->fds, O_CLOEXEC);
  int end = w->fds[0]; // the first is the one that waits
  if (w->want == 2) {  // a writer, whose pipe is full
    w->fds[0] = w->fds[1];
    w->fds[1] = end;
    fcntl(w->fds[0], F_SETPIPE_SZ, 4096);
    for (int i = 0; i < 4096; i++)
      write(w->fds[0], "", 1);
  }
}
static void wake_by_byte(struct waiter *w)
{
  write(w->fds[1], "x", 1);
}
static void wake_writer(struct waiter *w)
{
  char page[4096];
  for (size_t n = 0; n < sizeof page;)
    n += (size_t)read(w->fds[1], page, sizeof page - n);
}
// A full pipe takes this in two parts, and returns when it has taken both: the second call.
static long w_write(struct waiter *w)
{
  char page[4096] = {0};
  long got = write(w->fds[0], page, sizeof page);
  return got == sizeof page ? 2 : got;
}
static long w_read(struct waiter *w)
{
  char c;
  return read(w->fds[0], &c, 1);
}
static long w_readv(struct waiter *w)
{
  char c;
  struct iovec v = {&c, 1};
  return readv(w->fds[0], &v, 1);
}
static long w_recv(struct waiter *w)
{
  char c;
  return recv(w->fds[0], &c, 1, 0);
}
static long w_recvmsg(struct waiter *w)
{
  char c;
  struct iovec v = {&c, 1};
  struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
  return recvmsg(w->fds[0], &m, 0);
}
static long w_recvmmsg(struct waiter *w)
{
  char c;
  struct iovec v = {&c, 1};
  struct mmsghdr m = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}};
  return recvmmsg(w->fds[0], &m, 1, 0, NULL);
}
static long w_splice(struct waiter *w)
{
  static int null = -1;
  if (null < 0)
    null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  return splice(w->fds[0], NULL, null, NULL, 1, 0);
}

static struct sockaddr_un address(const char *what)
{
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "woken.%s.%d", what, getpid());
  return to;
}
static int listener(const char *what)
{
  struct sockaddr_un at = address(what);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bind(fd, (struct sockaddr *)&at, sizeof at);
  listen(fd, 0);
  return fd;
}
static int connected(const char *what, long *ret_got)
{
  struct sockaddr_un to = address(what);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  *ret_got = connect(fd, (struct sockaddr *)&to, sizeof to);
  return fd;
}
static void shut(int fd)
{
  int e = errno;
  close(fd);
  errno = e;
}
static void make_listener(struct waiter *w)
{
  w->fds[0] = listener("accept");
}
static long w_accept(struct waiter *w)
{
  int fd = accept4(w->fds[0], NULL, NULL, SOCK_CLOEXEC);
  if (fd >= 0)
    close(fd);
  return fd < 0 ? -1 : 0;
}
static void wake_accept(struct waiter *w)
{
  long got;
  (void)w;
  shut(connected("accept", &got));
}
static void make_full_listener(struct waiter *w)
{
  long got;
  w->fds[0] = listener("connect");
  w->fds[1] = connected("connect", &got);
}
static long w_connect(struct waiter *w)
{
  long got;
  (void)w;
  shut(connected("connect", &got));
  return got;
}
static void wake_connect(struct waiter *w)
{
  shut(accept(w->fds[0], NULL, NULL));
}

// ---- locks, queues, files ----

static void make_semaphore(struct waiter *w)
{
  w->id = semget(IPC_PRIVATE, 1, 0600);
}
static void wake_semaphore(struct waiter *w)
{
  semop(w->id, &(struct sembuf){0, 1, 0}, 1);
}
static long w_semop(struct waiter *w)
{
  return semop(w->id, &(struct sembuf){0, -1, 0}, 1);
}
static sem_t posted;
static void make_posted(struct waiter *w)
{
  (void)w;
  sem_init(&posted, 0, 0);
}
static void wake_posted(struct waiter *w)
{
  (void)w;
  sem_post(&posted);
}
static long w_sem_wait(struct waiter *w)
{
  (void)w;
  return sem_wait(&posted);
}
static atomic_int word;
static void wake_futex(struct waiter *w)
{
  (void)w;
  word++;
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}
// It may be woken before it waits.
static long w_futex(struct waiter *w)
{
  int seen = (int)w->n;
  long got = syscall(SYS_futex, &word, FUTEX_WAIT, seen, NULL, NULL, 0);
  return got < 0 && errno == EAGAIN ? 0 : got;
}
struct letter {
  long kind;
  char c;
};
static void make_letters(struct waiter *w)
{
  w->id = msgget(IPC_PRIVATE, 0600);
}
static void wake_letters(struct waiter *w)
{
  msgsnd(w->id, &(struct letter){1, 0}, 1, 0);
}
static long w_msgrcv(struct waiter *w)
{
  struct letter l;
  return msgrcv(w->id, &l, 1, 0, 0);
}
static void make_queue(struct waiter *w)
{
  char name[64];
  struct mq_attr a = {.mq_maxmsg = 1, .mq_msgsize = 1};
  snprintf(name, sizeof name, "/woken.%d", getpid());
  w->fds[0] = mq_open(name, O_RDWR | O_CREAT, 0600, &a);
  mq_unlink(name);
}
static void wake_queue(struct waiter *w)
{
  mq_send(w->fds[0], "x", 1, 0);
}
static long w_mq(struct waiter *w)
{
  char c;
  return mq_receive(w->fds[0], &c, 1, NULL);
}
static void make_watched(struct waiter *w)
{
  w->fds[0] = inotify_init1(IN_CLOEXEC);
  inotify_add_watch(w->fds[0], folder, IN_CREATE);
}
static void wake_watched(struct waiter *w)
{
  char name[128];
  (void)w;
  snprintf(name, sizeof name, "%s/x", folder);
  shut(open(name, O_CREAT | O_WRONLY, 0600));
  unlink(name);
}
static long w_inotify(struct waiter *w)
{
  char room[sizeof(struct inotify_event) + 16];
  return read(w->fds[0], room, sizeof room);
}
static void fifo_name(char name[128])
{
  snprintf(name, 128, "%s.fifo", folder);
}
static void make_fifo(struct waiter *w)
{
  char name[128];
  (void)w;
  fifo_name(name);
  mkfifo(name, 0600);
}
static void wake_fifo(struct waiter *w)
{
  char name[128];
  (void)w;
  fifo_name(name);
  shut(open(name, O_WRONLY | O_CLOEXEC)); // when both are there
}
static long w_open(struct waiter *w)
{
  char name[128], c;
  fifo_name(name);
  int fd = open(name, O_RDONLY | O_CLOEXEC);
  (void)w;
  if (fd < 0)
    return -1;
  while (read(fd, &c, 1) > 0) // until the other end is closed
    ;
  close(fd);
  return 0;
}

// ---- signals that are waited for, and so blocked ----

static void make_signalfd(struct waiter *w)
{
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGRTMIN);
  w->fds[0] = signalfd(-1, &one, SFD_CLOEXEC);
}
static void wake_by_signal(struct waiter *w)
{
  pthread_kill(w->thread, w->want == SIGUSR2 ? SIGUSR2 : SIGRTMIN);
}
static long w_signalfd(struct waiter *w)
{
  struct signalfd_siginfo info;
  return read(w->fds[0], &info, sizeof info);
}
static long w_sigwaitinfo(struct waiter *w)
{
  sigset_t one;
  (void)w;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR2);
  return sigwaitinfo(&one, NULL);
}

static void nothing(struct waiter *w)
{
  (void)w;
}

#define WAITER(name, make, wake, want)                                                             \
  {                                                                                                \
#name, make, w_##name, wake, want, {0, 0 }, 0, 0, 0, 0, 0, 0, 0, 0                             \
  }
static struct waiter all[] = {
    WAITER(eventfd, make_event, wake_event, 8),
    WAITER(epoll_wait, make_event, wake_event, 1),
    WAITER(epoll_pwait, make_event, wake_event, 1),
    WAITER(epoll_pwait2, make_event, wake_event, 1),
    WAITER(poll, make_event, wake_event, 1),
    WAITER(ppoll, make_event, wake_event, 1),
    WAITER(select, make_event, wake_event, 1),
    WAITER(pselect, make_event, wake_event, 1),
    WAITER(uring, make_ring, wake_event, 0),
    WAITER(read, make_pipe, wake_by_byte, 1),
    WAITER(readv, make_pair, wake_by_byte, 1),
    WAITER(recv, make_pair, wake_by_byte, 1),
    WAITER(recvmsg, make_pair, wake_by_byte, 1),
    WAITER(recvmmsg, make_pair, wake_by_byte, 1),
    WAITER(splice, make_pipe, wake_by_byte, 1),
    WAITER(write, make_pipe, wake_writer, 2),
    WAITER(accept, make_listener, wake_accept, 0),
    WAITER(connect, make_full_listener, wake_connect, 0),
    WAITER(semop, make_semaphore, wake_semaphore, 0),
    WAITER(sem_wait, make_posted, wake_posted, 0),
    WAITER(futex, nothing, wake_futex, 0),
    WAITER(msgrcv, make_letters, wake_letters, 1),
    WAITER(mq, make_queue, wake_queue, 1),
    WAITER(inotify, make_watched, wake_watched, 32),
    WAITER(open, make_fifo, wake_fifo, 0),
    WAITER(signalfd, make_signalfd, wake_by_signal, 128),
    WAITER(sigwaitinfo, nothing, wake_by_signal, SIGUSR2),
};
enum { N = sizeof all / sizeof *all };

static void *run(void *arg)
{
  struct waiter *w = arg;
  while (!stop || w->n != w->given) {
    long got = w->wait(w);
    int e = got < 0 ? errno : 0;
    free(malloc(w->n % 1000));
    if (e == EINTR) {
      w->n_interrupted++;
      continue; // it has not been woken yet
    }
    if (got != w->want) {
      w->n_wrong++;
      w->got = got;
      w->got_error = e;
    }
    w->n++;
  }
  return NULL;
}

static bool have_all_answered(void)
{
  for (int i = 0; i < N; i++)
    if (all[i].n != all[i].given)
      return false;
  return true;
}

// Each is given the next when all have answered, so that none is given two at once.
static void *wake_all(void *arg)
{
  (void)arg;
  for (unsigned waited_us = 0; waited_us < PATIENCE_US;) {
    usleep(ROUND_US);
    waited_us += ROUND_US;
    if (!have_all_answered())
      continue;
    if (stop)
      break;
    for (int i = 0; i < N; i++) {
      all[i].given++;
      all[i].wake(&all[i]);
    }
    waited_us = 0;
  }
  return NULL;
}

static void tidy(void)
{
  char name[128];
  fifo_name(name);
  unlink(name);
  rmdir(folder);
  for (int i = 0; i < N; i++)
    if (all[i].make == make_semaphore)
      semctl(all[i].id, 0, IPC_RMID);
    else if (all[i].make == make_letters)
      msgctl(all[i].id, IPC_RMID, NULL);
}

int main(void)
{
  pthread_t waker;
  sigset_t blocked;
  char c;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  sigaddset(&blocked, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  snprintf(folder, sizeof folder, "woken.%d", getpid());
  mkdir(folder, 0700);
  for (int i = 0; i < N; i++)
    all[i].make(&all[i]);
  for (int i = 0; i < N; i++)
    pthread_create(&all[i].thread, NULL, run, &all[i]);
  pthread_create(&waker, NULL, wake_all, NULL);
  write(1, "ready\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q')
    write(1, "ok\n", 3);
  stop = true;
  pthread_join(waker, NULL);
  int bad = all[0].given < 2; // nobody was woken: this has tried nothing
  for (int i = 0; i < N; i++) {
    const struct waiter *w = &all[i];
    if (getenv("SHOW"))
      printf("%s: %u times\n", w->name, w->n);
    if (w->n == w->given && !w->n_interrupted && !w->n_wrong)
      continue;
    printf("%s: of %u times %u not noticed, %u interrupted, %u otherwise (%ld, errno %d)\n",
           w->name, w->given, w->given - w->n, w->n_interrupted, w->n_wrong, w->got, w->got_error);
    bad = 1;
  }
  tidy();
  fflush(stdout);
  _exit(bad);
}
