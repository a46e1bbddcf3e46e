// SPDX-License-Identifier: Apache-2.0
//
// The nursery, and those of its ushers that have something to say. An order goes to the nursery
// with one end of a new pair of sockets; the usher that is forked off for it speaks through that.
// Neither the nursery nor the thread that hears ushers is there before the first order: most runs
// never need them.
#define _GNU_SOURCE
#include "supervise/usher.h"

#include "attach/shelf.h"
#include "base/alloc.h"
#include "base/proc.h"
#include "model/capture.h"
#include "observe/clock.h"
#include "supervise/pidfd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 20, MAX_USHERS = 64, SEIZE_MS = 1000, NULL_FD = 0, ORDERS_FD = 3 };

struct usher {
  pid_t tid; // whom it has been told to take
  int words;
  bool is_commands;
};

struct tide_agents {
  struct tide_usher_house house;
  pid_t nursery;
  void *stack; // of the nursery, which has a copy
  int orders;
  int wake_fd;
  pthread_t thread;
  bool listening;
  tide_door_receive *receive;
  void *context;
  pthread_mutex_t lock; // of all that follows
  pthread_cond_t command_is_over;
  struct usher ushers[MAX_USHERS];
  size_t n;
  bool stop, took_command, command_spoke;
  uint64_t n_failed;              // of others than the command
  char *failure;                  // of the first of them
  struct tide_usher_word command; // its usher's last word
};

// ---- the nursery ----

static bool receive_order(struct tide_usher_order *ret_order, int *ret_words)
{
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct iovec part = {ret_order, sizeof *ret_order};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t n;
  do
    n = recvmsg(ORDERS_FD, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  struct cmsghdr *c = CMSG_FIRSTHDR(&message);
  if (n != (ssize_t)sizeof *ret_order || !c || c->cmsg_type != SCM_RIGHTS)
    return false;
  memcpy(ret_words, CMSG_DATA(c), sizeof *ret_words);
  return true;
}

// Nothing of the supervisor's may be kept open by a copy.
static void keep_only_orders(int orders)
{
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < ORDERS_FD; fd++)
    dup2(null, fd);
  dup2(orders, ORDERS_FD);
  syscall(SYS_close_range, ORDERS_FD + 1, ~0u, 0);
}

static int nursery(void *context)
{
  struct tide_agents *agents = context;
  struct tide_usher_order order;
  sigset_t all;
  int words;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  signal(SIGCHLD, SIG_IGN); // nobody waits for ushers
  keep_only_orders(agents->orders);
  tide_shelf_make();
  while (receive_order(&order, &words)) {
    if (fork() == 0) {
      close(ORDERS_FD);
      tide_usher(&agents->house, &order, words);
    }
    close(words);
  }
  _exit(0);
}

static pid_t clone_nursery(struct tide_agents *agents)
{
  agents->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  return agents->stack == MAP_FAILED
             ? -1
             : clone(nursery, (char *)agents->stack + STACK_BYTES, 0, agents);
}

// libc's fork leaves its own locks free in the child, whatever other threads held: ushers allocate.
static pid_t fork_nursery(struct tide_agents *agents)
{
  pid_t pid = fork();
  if (pid == 0)
    nursery(agents);
  return pid;
}

static bool make_nursery(struct tide_agents *agents, pid_t (*make)(struct tide_agents *))
{
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
    return false;
  agents->orders = pair[1]; // for its copy of us
  agents->nursery = make(agents);
  close(pair[1]);
  agents->orders = pair[0];
  return agents->nursery > 0;
}

struct tide_agents *tide_agents_new(const struct tide_usher_house *house,
                                    tide_door_receive *receive, void *context)
{
  struct tide_agents *agents = tide_alloc(sizeof *agents);
  *agents = (struct tide_agents){
      .house = *house, .orders = -1, .wake_fd = -1, .receive = receive, .context = context};
  pthread_mutex_init(&agents->lock, NULL);
  pthread_cond_init(&agents->command_is_over, NULL);
  return agents;
}

bool tide_agents_prepare(struct tide_agents *agents)
{
  return make_nursery(agents, clone_nursery);
}

// ---- answers ----

static void tell_attached(const struct tide_agents *agents, const struct tide_usher_word *word)
{
  struct tide_pid_origin origin = {0};
  tide_pid_origin(word->pid_fd, word->pid, &origin);
  const struct tide_door_visit visit = {
      .pid = word->pid,
      .told_pid = word->pid,
      .told_parent_pid = word->parent,
      .pid_fd = word->pid_fd,
      .store_fd = word->store_fd,
      .time_ns = tide_monotonic_ns(),
      .identity = origin.identity,
      .born = word->born,
      .has_agent = true,
  };
  if (agents->receive(agents->context, &visit))
    return;
  if (word->pid_fd >= 0)
    close(word->pid_fd);
  if (word->store_fd >= 0)
    close(word->store_fd);
}

// Of one that was started, nobody has heard yet.
static void tell_absent(const struct tide_agents *agents, const struct tide_usher_word *word)
{
  char exe[TIDE_DOOR_PATH_BYTES];
  if (!tide_proc_exe(word->pid, exe, sizeof exe))
    *exe = 0;
  const struct tide_door_visit visit = {.pid = word->pid,
                                        .told_pid = word->pid,
                                        .flags = TIDE_DOOR_ABSENT,
                                        .pid_fd = -1,
                                        .store_fd = -1,
                                        .time_ns = tide_monotonic_ns(),
                                        .born = word->born,
                                        .why = word->why,
                                        .exe = exe,
                                        .teller_pid = word->pid};
  agents->receive(agents->context, &visit);
}

static void drop_usher(struct tide_agents *agents, int words, const struct tide_usher_word *last)
{
  pthread_mutex_lock(&agents->lock);
  for (size_t i = agents->n; i > 0; i--) {
    struct usher *u = &agents->ushers[i - 1];
    if (u->words != words)
      continue;
    if (u->is_commands) {
      agents->command_spoke = true;
      agents->command = *last;
      pthread_cond_broadcast(&agents->command_is_over);
    }
    *u = agents->ushers[--agents->n];
  }
  pthread_mutex_unlock(&agents->lock);
  close(words);
}

static void note_failure(struct tide_agents *agents, const char *program, const char *why)
{
  pthread_mutex_lock(&agents->lock);
  if (!agents->n_failed++)
    agents->failure = tide_sprintf("%s: %s", *program ? program : "a process", why);
  pthread_mutex_unlock(&agents->lock);
}

static bool is_commands(struct tide_agents *agents, int words)
{
  bool found = false;
  pthread_mutex_lock(&agents->lock);
  for (size_t i = 0; i < agents->n; i++)
    found |= agents->ushers[i].words == words && agents->ushers[i].is_commands;
  pthread_mutex_unlock(&agents->lock);
  return found;
}

static void hear(struct tide_agents *agents, int words)
{
  struct tide_usher_word word = {.pid_fd = -1, .store_fd = -1};
  if (!tide_usher_hear(words, &word))
    word = (struct tide_usher_word){.step = TIDE_USHER_FAILED,
                                    .text = "the process that traces has died"};
  else if (word.step == TIDE_USHER_ATTACHED)
    tell_attached(agents, &word); // and closing our end lets it go
  else if (word.step == TIDE_USHER_FAILED && word.is_spawned && !tide_why_is_partial(word.why))
    tell_absent(agents, &word);
  if (word.step == TIDE_USHER_FAILED && word.pid && !is_commands(agents, words))
    note_failure(agents, word.program, word.text);
  drop_usher(agents, words, &word);
}

static void *listen_thread(void *context)
{
  struct tide_agents *agents = context;
  for (;;) {
    struct pollfd fds[1 + MAX_USHERS] = {{agents->wake_fd, POLLIN, 0}};
    eventfd_t drained;
    pthread_mutex_lock(&agents->lock);
    size_t n = agents->n;
    bool stop = agents->stop;
    for (size_t i = 0; i < n; i++)
      fds[1 + i] = (struct pollfd){agents->ushers[i].words, POLLIN, 0};
    pthread_mutex_unlock(&agents->lock);
    if (stop || (poll(fds, 1 + n, -1) < 0 && errno != EINTR))
      return NULL;
    if (fds[0].revents)
      eventfd_read(agents->wake_fd, &drained);
    for (size_t i = 0; i < n; i++)
      if (fds[1 + i].revents)
        hear(agents, fds[1 + i].fd);
  }
}

// ---- orders ----

static bool send_order(const struct tide_agents *agents, const struct tide_usher_order *order,
                       int words)
{
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct iovec part = {(void *)order, sizeof *order};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr *c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof words);
  memcpy(CMSG_DATA(c), &words, sizeof words);
  return sendmsg(agents->orders, &message, MSG_NOSIGNAL) == (ssize_t)sizeof *order;
}

// Is the process held?
static bool hear_first(int words, char ret_why[512])
{
  struct tide_usher_word word;
  struct pollfd said = {words, POLLIN, 0};
  snprintf(ret_why, 512, "the process that traces did not answer");
  if (poll(&said, 1, SEIZE_MS) != 1 || !tide_usher_hear(words, &word))
    return false;
  if (word.step == TIDE_USHER_REFUSED)
    snprintf(ret_why, 512, "%s", word.text);
  return word.step == TIDE_USHER_SEIZED;
}

static bool add_usher(struct tide_agents *agents, const struct tide_usher_order *order, int words)
{
  pthread_mutex_lock(&agents->lock);
  bool has_room = agents->n < MAX_USHERS;
  if (has_room)
    agents->ushers[agents->n++] = (struct usher){order->tid, words, order->is_command};
  agents->took_command |= has_room && order->is_command;
  pthread_mutex_unlock(&agents->lock);
  eventfd_write(agents->wake_fd, 1);
  return has_room;
}

// At the first order.
static bool is_ready(struct tide_agents *agents)
{
  if (agents->nursery <= 0 && !make_nursery(agents, fork_nursery))
    return false;
  if (agents->wake_fd < 0)
    agents->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (!agents->listening && agents->wake_fd >= 0)
    agents->listening = !pthread_create(&agents->thread, NULL, listen_thread, agents);
  return agents->listening;
}

bool tide_agents_take(struct tide_agents *agents, const struct tide_usher_order *order,
                      char ret_why[512])
{
  int pair[2];
  snprintf(ret_why, 512, "no process could be started that traces");
  if (!is_ready(agents) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
    return false;
  bool ok = send_order(agents, order, pair[1]);
  close(pair[1]);
  ok = ok && hear_first(pair[0], ret_why) && add_usher(agents, order, pair[0]);
  if (!ok)
    close(pair[0]);
  if (!ok && !order->is_command)
    note_failure(agents, order->program, ret_why);
  return ok;
}

// Whoever has the agent got it from the nursery, or from one who did: it is there.
void tide_agents_look_again(struct tide_agents *agents, uint32_t pid)
{
  int pair[2];
  if (agents->nursery <= 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
    return;
  send_order(agents, &(struct tide_usher_order){.tid = (pid_t)pid, .looks_again = true}, pair[1]);
  close(pair[0]);
  close(pair[1]);
}

void tide_agents_leave(struct tide_agents *agents, pid_t tid)
{
  pthread_mutex_lock(&agents->lock);
  for (size_t i = 0; i < agents->n; i++)
    if (agents->ushers[i].tid == tid)
      shutdown(agents->ushers[i].words, SHUT_RDWR);
  pthread_mutex_unlock(&agents->lock);
}

bool tide_agents_await(struct tide_agents *agents, struct tide_usher_word *ret_word)
{
  pthread_mutex_lock(&agents->lock);
  bool took_command = agents->took_command;
  while (took_command && !agents->command_spoke)
    pthread_cond_wait(&agents->command_is_over, &agents->lock);
  *ret_word = agents->command;
  pthread_mutex_unlock(&agents->lock);
  return took_command;
}

static char *say_failures(const struct tide_agents *agents)
{
  if (!agents->n_failed)
    return NULL;
  uint64_t rest = agents->n_failed - 1;
  if (!rest)
    return tide_sprintf("the agent could not record %s", agents->failure);
  return tide_sprintf("the agent could not record %" PRIu64 " more %s, nor %s", rest,
                      rest == 1 ? "process" : "processes", agents->failure);
}

char *tide_agents_free(struct tide_agents *agents)
{
  if (!agents)
    return NULL;
  if (agents->listening) {
    pthread_mutex_lock(&agents->lock);
    agents->stop = true;
    pthread_mutex_unlock(&agents->lock);
    eventfd_write(agents->wake_fd, 1);
    pthread_join(agents->thread, NULL);
  }
  while (agents->n) { // what was said last is heard
    struct pollfd said = {agents->ushers[0].words, POLLIN, 0};
    if (poll(&said, 1, 0) == 1)
      hear(agents, said.fd);
    else
      drop_usher(agents, said.fd, &agents->command);
  }
  if (agents->orders >= 0)
    close(agents->orders);
  if (agents->nursery > 0)
    while (waitpid(agents->nursery, NULL, __WALL) < 0 && errno == EINTR)
      ;
  if (agents->wake_fd >= 0)
    close(agents->wake_fd);
  if (agents->stack && agents->stack != MAP_FAILED)
    munmap(agents->stack, STACK_BYTES);
  pthread_cond_destroy(&agents->command_is_over);
  pthread_mutex_destroy(&agents->lock);
  char *failures = say_failures(agents);
  free(agents->failure);
  free(agents);
  return failures;
}
