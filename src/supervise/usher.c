// SPDX-License-Identifier: Apache-2.0
//
// Seize, wait for the exec, judge the new program, put the agent into it, let go. See usher.h.
#define _GNU_SOURCE
#include "supervise/usher.h"

#include "attach/at_exec.h"
#include "attach/job.h"
#include "attach/sandbox.h"
#include "base/alloc.h"
#include "base/proc.h"
#include "model/capture.h"
#include "store/layout.h"
#include "supervise/target_check.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_FDS = 2, HEARD_MS = 1000 };

union control {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
};

static void send_word(int words, const struct tide_usher_word *word)
{
  union control control = {0};
  struct iovec part = {(void *)word, sizeof *word};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (word->step == TIDE_USHER_ATTACHED) {
    const int fds[MAX_FDS] = {word->pid_fd, word->store_fd};
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(c), fds, sizeof fds);
  }
  (void)!sendmsg(words, &message, MSG_NOSIGNAL);
}

bool tide_usher_hear(int words, struct tide_usher_word *ret_word)
{
  union control control = {0};
  struct iovec part = {ret_word, sizeof *ret_word};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t n;
  do
    n = recvmsg(words, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n != (ssize_t)sizeof *ret_word)
    return false;
  int fds[MAX_FDS] = {-1, -1};
  struct cmsghdr *c = CMSG_FIRSTHDR(&message);
  if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
      c->cmsg_len == CMSG_LEN(sizeof fds))
    memcpy(fds, CMSG_DATA(c), sizeof fds);
  ret_word->pid_fd = fds[0];
  ret_word->store_fd = fds[1];
  return true;
}

// Sanitizers check every block themselves, and Go's runtime has no functions to hook; what it calls
// of C's is libc's, and seen by the preloaded recorder.
bool tide_usher_could_help(enum tide_why why, const char *detail)
{
  bool is_special = detail && (strstr(detail, "Sanitizer") ||
                               (why == TIDE_WHY_OWN_ALLOCATOR && tide_why_is_go(detail)));
  switch (why) {
  case TIDE_WHY_PRIVILEGED: return geteuid() == 0;
  case TIDE_WHY_STATIC:
  case TIDE_WHY_MUSL:
  case TIDE_WHY_OTHER_LOADER:
  case TIDE_WHY_OWN_ALLOCATOR:
  case TIDE_WHY_NO_LIBRARY:
  case TIDE_WHY_NO_ENVIRONMENT:
  case TIDE_WHY_TOO_LONG: return !is_special;
  default: return false;
  }
}

struct guest { // the process at the beginning of its program
  pid_t pid;
  struct tide_preload preload;
  bool has_loader;
  bool is_unfit;
  enum tide_why why;
  char *detail;
};

static void look_at(const struct tide_usher_house *house, struct guest *guest)
{
  char link[64];
  snprintf(link, sizeof link, "/proc/%d/exe", guest->pid);
  guest->preload = tide_preload_find(guest->pid, house->library);
  guest->has_loader = tide_at_exec_has_loader(guest->pid);
  guest->is_unfit = tide_target_judge(link, &guest->why, &guest->detail);
  if (!guest->is_unfit && !guest->preload.n_places) {
    guest->is_unfit = true;
    guest->why = TIDE_WHY_NO_ENVIRONMENT;
  }
}

static bool wants_agent(const struct tide_usher_house *house, const struct guest *guest)
{
  if (guest->is_unfit)
    return tide_usher_could_help(guest->why, guest->detail);
  return house->how == TIDE_HOW_AGENT;
}

// Up to where nothing of it has run and everything is mapped.
static bool bring_to_start(const struct guest *guest, struct tide_usher_word *word)
{
  const char *why = NULL;
  if (!guest->has_loader)
    return true;
  bool ok = tide_preload_blank(guest->pid, &guest->preload) && tide_at_exec_load(guest->pid, &why);
  if (!ok)
    snprintf(word->text, sizeof word->text, "%s", why ? why : "its environment cannot be written");
  return ok;
}

static enum tide_err put_agent(const struct tide_usher_house *house, const struct guest *guest,
                               struct tide_attached *ret_attached, struct tide_diag *diag)
{
  struct tide_job *job; // it stays in the process, and its notes with it
  const struct tide_job_options options = {.pid = (uint32_t)guest->pid,
                                           .agent = house->agent,
                                           .debug_dirs = house->debug_dirs,
                                           .store_bytes = TIDE_JOB_STORE_BYTES,
                                           .depth_limit = house->depth,
                                           .sample_bits = house->sample_bits,
                                           .held = guest->pid,
                                           .door = house->follows ? house->door : NULL,
                                           .library = house->library,
                                           .recorder_pid = house->pid};
  return tide_job_attach(&options, &job, ret_attached, diag);
}

static void receive_guest(const struct tide_usher_house *house,
                          const struct tide_usher_order *order, struct guest *guest, int words)
{
  struct tide_usher_word word = {
      .step = TIDE_USHER_COVERED, .pid = (uint32_t)guest->pid, .is_spawned = order->spawns};
  struct tide_attached attached = {.store_fd = -1};
  struct tide_diag diag;
  look_at(house, guest);
  word.why = guest->is_unfit ? guest->why : TIDE_WHY_UNKNOWN;
  if (wants_agent(house, guest)) {
    word.step = TIDE_USHER_FAILED;
    if (bring_to_start(guest, &word)) {
      if (put_agent(house, guest, &attached, &diag))
        snprintf(word.text, sizeof word.text, "%s", diag.text);
      else
        word.step = TIDE_USHER_ATTACHED;
      if (word.step == TIDE_USHER_ATTACHED)
        snprintf(word.text, sizeof word.text, "%s", attached.unhooked);
    }
    // musl's loader does not start a program with our library among the preloads, and nobody will
    // take it away from what a static program starts that goes without the agent.
    // Valgrind's tools are static and start nothing: in what they run, our library says why not.
    bool is_alone = guest->why == TIDE_WHY_STATIC && word.step == TIDE_USHER_FAILED &&
                    !tide_proc_was_given(guest->pid, "VALGRIND_LAUNCHER=");
    if (is_alone && tide_target_musl_is_here())
      tide_preload_blank(guest->pid, &guest->preload);
    else if (guest->why != TIDE_WHY_MUSL)
      tide_preload_restore(guest->pid, &guest->preload, house->library);
  }
  struct tide_proc_stat stat = {0};
  tide_proc_name(word.pid, word.program, sizeof word.program);
  tide_proc_stat(word.pid, &stat);
  word.parent = stat.parent;
  word.born = stat.born;
  word.n_hooked = attached.n_hooked;
  word.families = attached.families;
  word.store_fd = attached.store_fd;
  word.pid_fd = word.step == TIDE_USHER_ATTACHED ? (int)syscall(SYS_pidfd_open, guest->pid, 0) : -1;
  send_word(words, &word);
  // Whoever ends at once would be over before it is known.
  if (word.step == TIDE_USHER_ATTACHED)
    poll(&(struct pollfd){words, POLLIN, 0}, 1, HEARD_MS);
  tide_at_exec_go(guest->pid, attached.held_back);
}

_Noreturn void tide_usher(const struct tide_usher_house *house,
                          const struct tide_usher_order *order, int words)
{
  struct tide_usher_word word = {.step = TIDE_USHER_SEIZED, .pid_fd = -1, .store_fd = -1};
  signal(SIGCHLD, SIG_DFL);
  if (order->looks_again) {
    tide_job_look_again(&(struct tide_job_options){.pid = (uint32_t)order->tid}, NULL);
    _exit(0);
  }
  if (!tide_at_exec_seize(order->tid, order->spawns)) {
    struct tide_diag diag;
    word.step = TIDE_USHER_REFUSED;
    tide_permission_explain((uint32_t)order->tid, &diag);
    snprintf(word.text, sizeof word.text, "%s", diag.text);
  }
  send_word(words, &word);
  struct guest guest = {0};
  if (word.step == TIDE_USHER_SEIZED && (guest.pid = tide_at_exec_await(words)))
    receive_guest(house, order, &guest, words);
  _exit(0);
}
