// SPDX-License-Identifier: Apache-2.0
//
// Signals and waiting. See follow.h.
#define _GNU_SOURCE
#include "supervise/follow.h"

#include "base/proc.h"
#include "observe/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

// Not these: faults of our own, and the stops that a background process gets for using the
// terminal, which shall stop us as they stop the command.
static void fill_mask(sigset_t *mask)
{
  static const int left_alone[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL, SIGTRAP,
                                   SIGABRT, SIGSYS, SIGTTIN, SIGTTOU};
  sigfillset(mask);
  for (size_t i = 0; i < sizeof left_alone / sizeof *left_alone; i++)
    sigdelset(mask, left_alone[i]);
}

enum tide_err tide_follow_init(struct tide_follow *follow, bool adopts, struct tide_diag *diag)
{
  sigset_t mask;
  fill_mask(&mask);
  *follow = (struct tide_follow){.active = true, .adopts = adopts, .finish_fd = -1};
  sigprocmask(SIG_SETMASK, &mask, &follow->old_mask);
  // With SIGCHLD ignored there would be nobody to wait for.
  follow->sigchld_was_ignored = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
  follow->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC);
  follow->finish_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (follow->signal_fd < 0 || follow->finish_fd < 0)
    return tide_fail_errno(diag, "cannot wait for signals");
  if (adopts && prctl(PR_SET_CHILD_SUBREAPER, 1))
    return tide_fail_errno(diag, "cannot wait for what the command leaves behind");
  return TIDE_ERR_OK;
}

void tide_follow_done(struct tide_follow *follow)
{
  if (!follow->active)
    return;
  // What came for the command and was not read any more must not end us now.
  sigset_t mask;
  fill_mask(&mask);
  while (sigtimedwait(&mask, NULL, &(struct timespec){0, 0}) > 0)
    ;
  if (follow->signal_fd >= 0)
    close(follow->signal_fd);
  if (follow->finish_fd >= 0)
    close(follow->finish_fd);
  if (follow->adopts)
    prctl(PR_SET_CHILD_SUBREAPER, 0);
  if (follow->sigchld_was_ignored)
    signal(SIGCHLD, SIG_IGN);
  sigprocmask(SIG_SETMASK, &follow->old_mask, NULL);
  *follow = (struct tide_follow){0};
}

static bool is_from_terminal(const struct signalfd_siginfo *signal)
{
  switch (signal->ssi_signo) {
  case SIGINT:
  case SIGQUIT:
  case SIGTSTP:
  case SIGHUP:
  case SIGWINCH: return signal->ssi_code == SI_KERNEL;
  default: return false;
  }
}

static void pass_on(pid_t pid, const struct signalfd_siginfo *signal)
{
  if (signal->ssi_code == SI_QUEUE)
    sigqueue(pid, (int)signal->ssi_signo, (union sigval){.sival_ptr = (void *)signal->ssi_ptr});
  else
    kill(pid, (int)signal->ssi_signo);
}

static void handle_signal(struct tide_follow *follow, pid_t pid,
                          const struct signalfd_siginfo *signal)
{
  if (signal->ssi_signo == SIGCHLD)
    return;
  if (follow->asking_signal && signal->ssi_signo == (uint32_t)follow->asking_signal) {
    follow->asked(follow->asked_context);
    return;
  }
  if (signal->ssi_signo == SIGTSTP)
    follow->terminal_stop = true;
  if (signal->ssi_signo == SIGCONT)
    follow->terminal_stop = false;
  // A command that signals its parent or its group must not hit itself once more.
  if (is_from_terminal(signal) || (signal->ssi_pid == (uint32_t)pid && signal->ssi_code <= 0))
    return;
  pass_on(pid, signal);
}

// A stop by job control stops the whole job, or the shell would wait for us for ever. A plain
// SIGSTOP is somebody's business with the command alone, unless Ctrl-Z came before: some programs
// put the terminal in order and then stop themselves that way.
static void stop_along(struct tide_follow *follow, int stop_signal)
{
  if (stop_signal != SIGSTOP || follow->terminal_stop)
    kill(getpid(), SIGSTOP); // we go on from here when we are continued
}

static uint64_t timeval_ns(struct timeval t)
{
  return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * 1000;
}

static void reap_followed(pid_t pid, struct tide_follow_end *ret_end)
{
  uint64_t now_ns = tide_monotonic_ns();
  struct tide_proc_stat stat = {0};
  tide_proc_stat((uint32_t)pid, &stat); // known until it is reaped
  struct rusage usage = {0};
  int status = 0;
  while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
    ;
  uint64_t cpu_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
  *ret_end = (struct tide_follow_end){
      .exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
      .term_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
      .core_dumped = WIFSIGNALED(status) && WCOREDUMP(status),
      .time_ns = now_ns,
      .max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024,
      .cpu_ns = cpu_ns > stat.children_cpu_ns ? cpu_ns - stat.children_cpu_ns : 0,
  };
}

// True: it has ended. The state is looked at first and taken afterwards, so that an ended command
// is still there to be asked about its children.
static bool check_child(struct tide_follow *follow, pid_t pid, struct tide_follow_end *ret_end)
{
  siginfo_t info = {0};
  if (waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) || !info.si_pid)
    return false;
  if (info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED) {
    waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG);
    stop_along(follow, info.si_status);
    return false;
  }
  reap_followed(pid, ret_end);
  return true;
}

// Waits for those that were adopted and have ended: nobody else does. True: there are more, which
// have not. The kernel hands children on before their parent's end is told: none is missed between.
static bool reap_adopted(pid_t command)
{
  siginfo_t info = {0};
  while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT)) {
    if (!info.si_pid || info.si_pid == command)
      return true;
    waitpid(info.si_pid, NULL, 0);
    info.si_pid = 0;
  }
  return false;
}

// Waits for a signal, which is read, or to be told to finish: false. Anything else is no signal.
static bool await_signal(const struct tide_follow *follow, struct signalfd_siginfo *ret_signal)
{
  struct pollfd fds[] = {{follow->signal_fd, POLLIN, 0}, {follow->finish_fd, POLLIN, 0}};
  eventfd_t told;
  *ret_signal = (struct signalfd_siginfo){0};
  if (poll(fds, 2, -1) < 0)
    return true;
  if (fds[1].revents && !eventfd_read(follow->finish_fd, &told))
    return false;
  if (!fds[0].revents || read(follow->signal_fd, ret_signal, sizeof *ret_signal) < 0)
    ret_signal->ssi_signo = 0;
  return true;
}

bool tide_follow_to_end(struct tide_follow *follow, pid_t pid, struct tide_follow_end *ret_end)
{
  while (!check_child(follow, pid, ret_end)) {
    struct signalfd_siginfo signal;
    if (follow->adopts)
      reap_adopted(pid);
    if (!await_signal(follow, &signal))
      return false;
    if (signal.ssi_signo)
      handle_signal(follow, pid, &signal);
  }
  return true;
}

bool tide_follow_left_any(const struct tide_follow *follow)
{
  return follow->adopts && reap_adopted(0);
}

void tide_follow_rest(struct tide_follow *follow)
{
  while (tide_follow_left_any(follow)) {
    struct signalfd_siginfo signal;
    if (!await_signal(follow, &signal))
      return;
    if (follow->asking_signal && signal.ssi_signo == (uint32_t)follow->asking_signal)
      follow->asked(follow->asked_context);
    switch (signal.ssi_signo) {
    case SIGTSTP: kill(getpid(), SIGSTOP); break;
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT: return;
    }
  }
}
