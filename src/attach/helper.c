// SPDX-License-Identifier: Apache-2.0
//
// Words between the command and its helper go through a pair of sockets, one packet each: an answer
// when the helper has attached, with the store's descriptor; orders to look at libraries that came
// later; an order to detach; an answer.
#define _GNU_SOURCE
#include "attach/job.h"

#include "base/alloc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ORDER_DETACH = 0, ORDER_LOOK = 1 };

struct tide_helper {
  pid_t pid;
  int words;
};

struct answer {
  enum tide_err err;
  struct tide_diag diag;
  struct tide_attached attached;
};

static bool send_answer(int words, const struct answer *answer)
{
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct iovec part = {(void *)answer, sizeof *answer};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (answer->attached.store_fd >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &answer->attached.store_fd, sizeof(int));
  }
  return sendmsg(words, &message, MSG_NOSIGNAL) == (ssize_t)sizeof *answer;
}

// A helper that ends may have orders that it has not read. The kernel tells that once, before it
// gives what the helper said.
static ssize_t receive_word(int words, struct msghdr *message, int flags)
{
  ssize_t n;
  do
    n = recvmsg(words, message, flags | MSG_CMSG_CLOEXEC);
  while (n < 0 && (errno == EINTR || errno == ECONNRESET));
  return n;
}

static bool receive_answer(int words, struct answer *ret_answer)
{
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct iovec part = {ret_answer, sizeof *ret_answer};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t n = receive_word(words, &message, 0);
  if (n != (ssize_t)sizeof *ret_answer)
    return false;
  struct cmsghdr *c = CMSG_FIRSTHDR(&message);
  ret_answer->attached.store_fd = -1;
  if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
    memcpy(&ret_answer->attached.store_fd, CMSG_DATA(c), sizeof(int));
  return true;
}

// A terminal's Ctrl-C is for the command, which tells us what to do.
static void keep_signals_off(void)
{
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
}

// The command's end is an order to detach; and where there is nothing left to detach, the end of
// the process is not waited for.
static char await_order(int words, const struct tide_job *job)
{
  enum { LOOK_MS = 500 };
  struct pollfd heard = {words, POLLIN, 0};
  char order;
  while (poll(&heard, 1, LOOK_MS) <= 0)
    if (tide_job_is_over(job))
      return ORDER_DETACH;
  if (read(words, &order, 1) != 1)
    return ORDER_DETACH;
  while (order == ORDER_LOOK && recv(words, &order, 1, MSG_DONTWAIT) == 1)
    ; // one look does for all that were asked for
  return order;
}

static _Noreturn void work(const struct tide_job_options *options, int words)
{
  struct answer answer = {.attached = {.store_fd = -1}};
  struct tide_job *job = NULL;
  keep_signals_off();
  answer.err = tide_job_attach(options, &job, &answer.attached, &answer.diag);
  bool heard = send_answer(words, &answer);
  if (answer.err)
    _exit(1);
  while (heard && await_order(words, job) == ORDER_LOOK)
    tide_job_look_again(options, job);
  answer.err = tide_job_detach(job, &answer.attached, &answer.diag);
  answer.attached.store_fd = -1;
  send_answer(words, &answer);
  _exit(answer.err ? 1 : 0);
}

static enum tide_err take_answer(struct tide_helper *helper, struct tide_attached *ret_attached,
                                 struct tide_diag *diag)
{
  struct answer answer;
  if (!receive_answer(helper->words, &answer))
    return tide_fail(diag, TIDE_ERR_SYSTEM, "the process that traces has died");
  *ret_attached = answer.attached;
  if (answer.err && diag)
    *diag = answer.diag;
  return answer.err;
}

enum tide_err tide_helper_start(const struct tide_job_options *options,
                                struct tide_helper **ret_helper, struct tide_attached *ret_attached,
                                struct tide_diag *diag)
{
  int words[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, words))
    return tide_fail_errno(diag, "cannot make a pair of sockets");
  pid_t pid = fork();
  if (pid == 0) {
    close(words[0]);
    work(options, words[1]);
  }
  close(words[1]);
  if (pid < 0) {
    close(words[0]);
    return tide_fail_errno(diag, "cannot start a process");
  }
  struct tide_helper *helper = tide_alloc(sizeof *helper);
  *helper = (struct tide_helper){pid, words[0]};
  enum tide_err err = take_answer(helper, ret_attached, diag);
  if (err)
    tide_helper_free(helper);
  else
    *ret_helper = helper;
  return err;
}

void tide_helper_look_again(struct tide_helper *helper)
{
  char order = ORDER_LOOK;
  (void)!send(helper->words, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int tide_helper_fd(const struct tide_helper *helper)
{
  return helper->words;
}

bool tide_helper_has_let_go(const struct tide_helper *helper)
{
  char byte;
  struct msghdr message = {.msg_iov = &(struct iovec){&byte, 1}, .msg_iovlen = 1};
  return receive_word(helper->words, &message, MSG_PEEK | MSG_DONTWAIT) == 1;
}

enum tide_err tide_helper_detach(struct tide_helper *helper, struct tide_attached *ret_attached,
                                 struct tide_diag *diag)
{
  char order = ORDER_DETACH;
  (void)!send(helper->words, &order, 1, MSG_NOSIGNAL); // it may have answered already, and be gone
  return take_answer(helper, ret_attached, diag);
}

void tide_helper_free(struct tide_helper *helper)
{
  if (!helper)
    return;
  close(helper->words);
  while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
    ;
  free(helper);
}

// In this process: there is nothing else that it does.
enum tide_err tide_helper_clear(const struct tide_job_options *options, bool *ret_found,
                                struct tide_diag *diag)
{
  return tide_job_clear(options, ret_found, diag);
}
