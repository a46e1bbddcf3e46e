// SPDX-License-Identifier: Apache-2.0
//
// PTRACE_SEIZE and PTRACE_INTERRUPT, which send no signal. See tracer.h.
#define _GNU_SOURCE
#include "attach/tracer.h"

#include "attach/stopped_regs.h"
#include "attach/thread_state.h"
#include "base/alloc.h"
#include "base/proc.h"
#include "store/agent_face.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STOP_LIMIT_NS (50 * UINT64_C(1000000)) // not of one alone, whom nobody waits for
#define IDLE_LOOK_NS 20000000
#define VFORK_LOOK_NS 100000
#define GONE_LOOK_NS 10000000
#define WAITS_FOR_CHILD "a thread waits for a child that it made with vfork"
#define RED_ZONE_BYTES 128
#define LOWEST_CODE 0x10000          // vm.mmap_min_addr, as it is mostly
#define STACK_LOOK_BYTES (128 << 10) // frames of what is interrupted by a signal lie on top
#define SIGNAL_PC_WORDS 4            // that tide_regs_is_signal_pc() looks at

static uint64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static long trace(long request, pid_t tid, uint64_t address, uint64_t data)
{
  return ptrace(request, tid, address, data);
}

static bool get_regs(pid_t tid, struct user_regs_struct *ret_regs)
{
  struct iovec whole = {ret_regs, sizeof *ret_regs};
  return !trace(PTRACE_GETREGSET, tid, NT_PRSTATUS, (uint64_t)&whole);
}

static void set_regs(pid_t tid, struct user_regs_struct *regs)
{
  struct iovec whole = {regs, sizeof *regs};
  trace(PTRACE_SETREGSET, tid, NT_PRSTATUS, (uint64_t)&whole);
}

// A thread that makes its process another program waits, with the process locked, until all others
// have ended and whoever traces them has noticed. To seize it waits for that lock.
static const struct tide_tracer *noticing; // whose threads, for as long as it is on

static void notice_ended(int signal)
{
  (void)signal;
  int saved = errno;
  siginfo_t ended;
  for (size_t i = 0; noticing && i < noticing->n; i++)
    waitid(P_PID, (id_t)noticing->threads[i].tid, &ended, WEXITED | WNOHANG | __WALL);
  errno = saved;
}

// While it waits, the handler runs now and then.
static long seize_noticing(const struct tide_tracer *tracer, pid_t tid)
{
  const struct timeval often = {0, 50000};
  noticing = tracer;
  setitimer(ITIMER_REAL, &(struct itimerval){often, often}, NULL);
  long failed = trace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD);
  int why = errno;
  setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
  noticing = NULL;
  errno = why;
  return failed;
}

void tide_tracer_init(struct tide_tracer *tracer, const struct tide_outside *outside)
{
  sigset_t child, alarms;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, NULL);
  sigaction(SIGALRM, &(struct sigaction){.sa_handler = notice_ended, .sa_flags = SA_RESTART}, NULL);
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarms, NULL);
  *tracer = (struct tide_tracer){.outside = outside, .recorder_pid = (uint32_t)getpid()};
}

void tide_tracer_hold(struct tide_tracer *tracer, pid_t tid)
{
  tracer->held = tid;
}

void tide_tracer_done(struct tide_tracer *tracer)
{
  free(tracer->threads);
  free(tracer->parents);
  *tracer = (struct tide_tracer){0};
}

// Most calls that a tracer interrupts go on by themselves; these give up, as if a signal had come:
// those on sockets if they have a timeout. None has done anything by then, or what it has done is
// taken up by the next one, as connect()'s.
static bool gives_up(long call)
{
  static const long CALLS[] = {
      SYS_read,         SYS_readv,          SYS_recvfrom,     SYS_recvmsg,
      SYS_recvmmsg,     SYS_write,          SYS_writev,       SYS_sendto,
      SYS_sendmsg,      SYS_sendmmsg,       SYS_accept,       SYS_accept4,
      SYS_connect,      SYS_semop,          SYS_semtimedop,   SYS_rt_sigtimedwait,
      SYS_preadv2,      SYS_pwritev2,       SYS_sendfile,     SYS_splice,
      SYS_fallocate,    SYS_io_uring_enter, SYS_io_getevents, SYS_epoll_pwait,
#ifdef SYS_epoll_pwait2
      SYS_epoll_pwait2,
#endif
#ifdef SYS_epoll_wait
      SYS_epoll_wait,
#endif
  };
  for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
    if (call == CALLS[i])
      return true;
  return false;
}

static bool expects_handler(const struct tide_tracer *tracer, const struct tide_stopped *thread)
{
  return tide_thread_expects_handler((pid_t)tracer->outside->pid, thread->tid, thread->signal);
}

static void restart_what_we_interrupted(const struct tide_tracer *tracer,
                                        struct tide_stopped *thread)
{
  if (!gives_up(tide_regs_interrupted(&thread->regs, &thread->before)) ||
      (!tide_regs_handler_ends_call && expects_handler(tracer, thread)))
    return;
  thread->interrupted = thread->regs;
  tide_regs_restart(&thread->regs, &thread->before);
  thread->restarted_pc = tide_stopped_pc(thread);
  set_regs(thread->tid, &thread->regs);
}

// A signal that came since then ends the call after all.
static void honour_handler(const struct tide_tracer *tracer, struct tide_stopped *thread)
{
  if (!tide_regs_handler_ends_call && thread->restarted_pc &&
      thread->restarted_pc == tide_stopped_pc(thread) && expects_handler(tracer, thread))
    set_regs(thread->tid, &thread->interrupted);
}

// Waits for a thread to stop, until a time. False: it did not. Nobody tells that a thread is gone
// because another of its process has become a new program, so that it is looked at now and then.
static bool await_thread(pid_t tid, uint64_t until_ns, int *ret_status, bool *ret_gone)
{
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  for (;;) {
    pid_t pid = waitpid(tid, ret_status, __WALL | WNOHANG);
    *ret_gone = pid < 0 || (pid > 0 && !WIFSTOPPED(*ret_status));
    if (pid)
      return true;
    uint64_t now = now_ns();
    if (now >= until_ns)
      return false;
    uint64_t left = until_ns - now;
    sigtimedwait(&child, NULL,
                 &(struct timespec){0, left < GONE_LOOK_NS ? (long)left : GONE_LOOK_NS});
  }
}

static bool await_stop(struct tide_tracer *tracer, struct tide_stopped *thread, uint64_t until_ns)
{
  int status;
  if (!await_thread(thread->tid, until_ns, &status, &thread->gone))
    return false;
  if (thread->gone)
    return true;
  thread->is_still = true;
  bool is_event = status >> 16 || WSTOPSIG(status) == (SIGTRAP | 0x80);
  thread->signal = is_event ? 0 : WSTOPSIG(status);
  if (get_regs(thread->tid, &thread->regs))
    restart_what_we_interrupted(tracer, thread);
  else
    thread->gone = true;
  return true;
}

static bool is_known(const struct tide_tracer *tracer, pid_t tid)
{
  for (size_t i = 0; i < tracer->n; i++)
    if (tracer->threads[i].tid == tid)
      return true;
  return false;
}

enum seized { SEIZED, PASSED_OVER, REFUSED };

// A thread that became a new program has another number, its process's, and is seized still.
static bool ask_to_seize(const struct tide_tracer *tracer, pid_t tid)
{
  pid_t pid = (pid_t)tracer->outside->pid;
  if (!seize_noticing(tracer, tid))
    return true;
  int why = errno;
  bool is_ours = why == EPERM && tide_thread_tracer(pid, tid) == getpid();
  errno = why;
  return is_ours;
}

// EPERM is also said of a thread that is ending. Its number may go to one that became a new
// program, so that it is asked for once more.
static enum seized seize(struct tide_tracer *tracer, pid_t tid)
{
  pid_t pid = (pid_t)tracer->outside->pid;
  struct tide_waiting before = {.number = -1};
  if (tide_regs_lose_argument)
    before = tide_thread_waiting(pid, tid);
  for (int tries = 0; !ask_to_seize(tracer, tid); tries++) {
    int why = errno;
    if (why == ESRCH || tide_thread_has_ended(pid, tid))
      return PASSED_OVER;
    if (tries) {
      tracer->sys_errno = why;
      return REFUSED;
    }
  }
  TIDE_GROW(tracer->threads, tracer->n, tracer->cap);
  tracer->threads[tracer->n++] = (struct tide_stopped){.tid = tid, .before = before};
  return SEIZED;
}

static DIR *open_threads(const struct tide_tracer *tracer)
{
  char name[64];
  snprintf(name, sizeof name, "/proc/%u/task", tracer->outside->pid);
  return opendir(name);
}

static pid_t next_thread(DIR *dir) // 0: that was all
{
  struct dirent *entry;
  pid_t tid = 0;
  while (tid <= 0 && dir && (entry = readdir(dir)))
    tid = (pid_t)strtol(entry->d_name, NULL, 10);
  return tid;
}

static bool is_parent(const struct tide_tracer *tracer, pid_t tid)
{
  for (size_t i = 0; i < tracer->n_parents; i++)
    if (tracer->parents[i] == tid)
      return true;
  return false;
}

// Who had children may have some again.
static void add_parent(struct tide_tracer *tracer, pid_t tid)
{
  TIDE_GROW(tracer->parents, tracer->n_parents, tracer->parents_cap);
  tracer->parents[tracer->n_parents++] = tid;
}

static bool is_childless(struct tide_tracer *tracer, pid_t tid)
{
  if (is_parent(tracer, tid))
    return false;
  bool is_new = tide_thread_has_children((pid_t)tracer->outside->pid, tid);
  if (is_new)
    add_parent(tracer, tid);
  return !is_new;
}

// Before a stop of all, as it takes its time.
static void note_parents(struct tide_tracer *tracer)
{
  DIR *dir = open_threads(tracer);
  for (pid_t tid; (tid = next_thread(dir));)
    is_childless(tracer, tid);
  if (dir)
    closedir(dir);
}

enum whose {
  OTHERS, // of all but parents and the first thread, to which the kernel sends what is sent to the
          // process
  EVERY
};

static bool is_of(const struct tide_tracer *tracer, enum whose whose, pid_t tid)
{
  return whose == EVERY || (!is_parent(tracer, tid) && tid != (pid_t)tracer->outside->pid);
}

// Seizes threads that are not known yet, at most `limit` of them after `skip`.
static bool seize_new(struct tide_tracer *tracer, enum whose whose, unsigned skip, size_t limit)
{
  size_t first = tracer->n;
  bool ok = true;
  DIR *dir = open_threads(tracer);
  for (pid_t tid; ok && tracer->n - first < limit && (tid = next_thread(dir));) {
    if (is_known(tracer, tid) || !is_of(tracer, whose, tid))
      continue;
    if (skip)
      skip--;
    else if (limit > 1 || !tide_thread_waits_for_vfork((pid_t)tracer->outside->pid, tid))
      ok = seize(tracer, tid) != REFUSED;
  }
  if (dir)
    closedir(dir);
  return ok;
}

static void let_one_go(const struct tide_tracer *tracer, struct tide_stopped *thread)
{
  if (!thread->gone) {
    honour_handler(tracer, thread);
    trace(PTRACE_DETACH, thread->tid, 0, (uint64_t)thread->signal);
  }
  thread->gone = true;
}

static void leave_cave(struct tide_tracer *tracer)
{
  struct tide_cave *cave = &tracer->cave;
  if (cave->at)
    tide_outside_write(tracer->outside, cave->at, cave->before, cave->n_bytes);
  cave->at = 0;
}

// Parents and the first thread, before others: their signals would wake those. One that waits for
// its vfork child may take for ever.
static void let_signalled_go(struct tide_tracer *tracer)
{
  pid_t pid = (pid_t)tracer->outside->pid;
  for (size_t i = tracer->n; i-- > 0;) {
    struct tide_stopped *t = &tracer->threads[i];
    if (t->gone || is_of(tracer, OTHERS, t->tid))
      continue;
    if (t->is_still || (!tide_thread_waits_for_vfork(pid, t->tid) &&
                        await_stop(tracer, t, now_ns() + STOP_LIMIT_NS)))
      let_one_go(tracer, t);
  }
}

// Those that stand still first. Who does not can only be let go when it stops at last, or by our
// own end: nobody else must wait for that.
static void let_go(struct tide_tracer *tracer)
{
  leave_cave(tracer);
  if (tracer->held) {
    if (tracer->n && tracer->threads[0].signal)
      tracer->held_back |= UINT64_C(1) << tracer->threads[0].signal;
    tracer->n = 0;
  }
  let_signalled_go(tracer);
  for (size_t i = tracer->n; i-- > 0;) {
    struct tide_stopped *t = &tracer->threads[i];
    if (!t->gone && (t->is_still || await_stop(tracer, t, 0)))
      let_one_go(tracer, t);
  }
  for (size_t i = tracer->n; i-- > 0;) {
    struct tide_stopped *t = &tracer->threads[i];
    if (!t->gone && await_stop(tracer, t, UINT64_MAX))
      let_one_go(tracer, t);
  }
  tracer->n = 0;
}

static bool give_up(struct tide_tracer *tracer, const char *why)
{
  tracer->hindered = why;
  let_go(tracer);
  return false;
}

// Every thread that runs needs a processor before it can stop, and so do we to let it go. Only as
// long as it takes, for nobody else gets that processor meanwhile. Where this is not permitted, a
// stop takes longer.
static void set_urgent(bool urgent)
{
  struct sched_param priority = {.sched_priority = urgent};
  sched_setscheduler(0, (urgent ? SCHED_RR : SCHED_OTHER) | SCHED_RESET_ON_FORK, &priority);
}

static void begin_stop(struct tide_tracer *tracer)
{
  set_urgent(true);
  tracer->n = 0;
  tracer->sys_errno = 0;
  tracer->since_ns = now_ns();
}

static bool take_held(struct tide_tracer *tracer)
{
  struct tide_stopped thread = {.tid = tracer->held, .is_still = true};
  if (!get_regs(thread.tid, &thread.regs))
    return give_up(tracer, "it has ended");
  TIDE_GROW(tracer->threads, tracer->n, tracer->cap);
  tracer->threads[tracer->n++] = thread;
  return true;
}

// Nobody else is stopped meanwhile. The next vfork may follow at once, so that the moment between
// the two must be caught.
static bool await_vfork_child(const struct tide_tracer *tracer)
{
  pid_t pid = (pid_t)tracer->outside->pid;
  uint64_t until_ns = now_ns() + STOP_LIMIT_NS;
  while (tide_threads_wait_for_vfork(pid)) {
    if (now_ns() >= until_ns)
      return false;
    nanosleep(&(struct timespec){0, VFORK_LOOK_NS}, NULL);
  }
  return true;
}

// A thread that runs may make another. When all that are known stand still and the list shows
// nobody new, there is nobody else. Nobody is interrupted before all are seized: what the kernel
// keeps for one that is seized wakes that one itself as long as it runs, and only then any other.
static bool stop_those(struct tide_tracer *tracer, enum whose whose)
{
  for (;;) {
    size_t first = tracer->n;
    bool ok = seize_new(tracer, whose, 0, SIZE_MAX);
    for (size_t i = first; i < tracer->n; i++)
      trace(PTRACE_INTERRUPT, tracer->threads[i].tid, 0, 0);
    for (size_t i = first; i < tracer->n; i++)
      if (!await_stop(tracer, &tracer->threads[i], tracer->since_ns + STOP_LIMIT_NS))
        return give_up(tracer, "a thread did not stop in time");
    if (!ok)
      return give_up(tracer, "a thread may not be traced");
    if (tracer->n == first)
      return true;
  }
}

bool tide_tracer_stop_all(struct tide_tracer *tracer)
{
  bool stoppable = tracer->held || await_vfork_child(tracer);
  if (!tracer->held)
    note_parents(tracer);
  begin_stop(tracer);
  if (tracer->held)
    return take_held(tracer);
  if (!stoppable)
    return give_up(tracer, WAITS_FOR_CHILD);
  // Signals for the process are kept from when its first thread is seized, so late.
  if (!stop_those(tracer, OTHERS) || !stop_those(tracer, EVERY))
    return false;
  return tracer->n || give_up(tracer, "it has ended");
}

enum { CANDIDATES = 64 };

static unsigned list_runs(const struct tide_tracer *tracer, uint64_t runs[CANDIDATES])
{
  unsigned n = 0;
  DIR *dir = open_threads(tracer);
  for (pid_t tid; n < CANDIDATES && (tid = next_thread(dir));)
    if (is_of(tracer, OTHERS, tid))
      runs[n++] = tide_thread_runs((pid_t)tracer->outside->pid, tid);
  if (dir)
    closedir(dir);
  return n;
}

// Which thread, counted as seize_new() does, runs least of all, as seen for a moment.
static unsigned find_idlest(const struct tide_tracer *tracer)
{
  uint64_t before[CANDIDATES], after[CANDIDATES];
  unsigned best = 0;
  unsigned n = list_runs(tracer, before);
  nanosleep(&(struct timespec){0, IDLE_LOOK_NS}, NULL);
  unsigned n_after = list_runs(tracer, after);
  for (unsigned i = 1; n == n_after && i < n; i++)
    if (after[i] - before[i] < after[best] - before[best])
      best = i;
  return best;
}

static bool stop_nth(struct tide_tracer *tracer, enum whose whose, unsigned nth)
{
  begin_stop(tracer);
  if (tracer->held)
    return take_held(tracer);
  bool ok = seize_new(tracer, whose, nth, 1);
  if (ok && !tracer->n && nth) { // that was all of them: the first again
    tracer->turn = 1;
    ok = seize_new(tracer, whose, 0, 1);
  }
  if (!ok)
    return give_up(tracer, "a thread may not be traced");
  if (!tracer->n)
    return give_up(tracer, tide_threads_wait_for_vfork((pid_t)tracer->outside->pid)
                               ? WAITS_FOR_CHILD
                               : "it has ended");
  trace(PTRACE_INTERRUPT, tracer->threads[0].tid, 0, 0);
  return await_stop(tracer, &tracer->threads[0],
                    whose == OTHERS ? UINT64_MAX : tracer->since_ns + STOP_LIMIT_NS) ||
         give_up(tracer, "a thread did not stop in time");
}

// The nth thread, counted as seize_new() does, or the next behind it that has no children: of
// others nobody is asked, as there may be many and a stop for each. False: there is none.
static bool find_from(struct tide_tracer *tracer, unsigned *nth)
{
  unsigned i = 0;
  bool found = false;
  tracer->n_listed = 0;
  DIR *dir = open_threads(tracer);
  for (pid_t tid; (tid = next_thread(dir)); tracer->n_listed++) {
    if (found || !is_of(tracer, OTHERS, tid) || (i >= *nth && !is_childless(tracer, tid)))
      continue;
    found = i >= *nth;
    i++;
  }
  if (dir)
    closedir(dir);
  if (found)
    *nth = i - 1;
  return found;
}

static bool find_childless(struct tide_tracer *tracer, unsigned *nth)
{
  if (find_from(tracer, nth))
    return true;
  if (!*nth)
    return false;
  *nth = 0; // that was all of them: the first again
  tracer->turn = 1;
  return find_from(tracer, nth);
}

bool tide_tracer_stop_any(struct tide_tracer *tracer)
{
  return stop_nth(tracer, EVERY, tracer->turn++);
}

// A thread that is alone in its process has nobody whom its signals could wake. One may have had
// its first child on its way to the stop: then it is let go, and noted as a parent.
static bool stop_childless(struct tide_tracer *tracer, unsigned nth)
{
  if (tracer->held)
    return tide_tracer_stop_any(tracer);
  for (;; nth = tracer->turn++) {
    if (!find_childless(tracer, &nth))
      return tracer->n_listed < 2 ? tide_tracer_stop_any(tracer) : tide_tracer_stop_all(tracer);
    if (!stop_nth(tracer, OTHERS, nth))
      return false;
    const struct tide_stopped *thread = &tracer->threads[0];
    if (thread->gone || !tide_thread_has_children((pid_t)tracer->outside->pid, thread->tid))
      return true;
    add_parent(tracer, thread->tid);
    let_go(tracer);
  }
}

bool tide_tracer_stop_one(struct tide_tracer *tracer)
{
  return stop_childless(tracer, tracer->turn++);
}

bool tide_tracer_stop_idle(struct tide_tracer *tracer)
{
  unsigned first = 0;
  if (tracer->held || !find_from(tracer, &first))
    return tide_tracer_stop_one(tracer);
  return stop_childless(tracer, find_idlest(tracer));
}

void tide_tracer_go(struct tide_tracer *tracer)
{
  let_go(tracer);
  tracer->stopped_ns = now_ns() - tracer->since_ns;
  set_urgent(false);
}

// A thread that was stopped before, by SIGSTOP, is told once more that it is interrupted.
static bool step_to_syscall(pid_t tid)
{
  int status = 0;
  bool is_gone;
  for (int i = 0; i < 2; i++) {
    if (trace(PTRACE_SYSCALL, tid, 0, 0) || !await_thread(tid, UINT64_MAX, &status, &is_gone) ||
        is_gone)
      return false;
    if (status >> 16 != PTRACE_EVENT_STOP)
      break;
  }
  return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

static bool step_through_syscall(pid_t tid)
{
  bool began = step_to_syscall(tid);
  return began && step_to_syscall(tid);
}

static bool make_call(struct tide_stopped *thread, uint64_t cave, struct tide_remote_call *call)
{
  struct user_regs_struct regs = tide_regs_at_call(&thread->regs, cave);
  set_regs(thread->tid, &regs);
  if (!step_through_syscall(thread->tid) || !get_regs(thread->tid, &regs))
    return false;
  call->result = tide_regs_result(&regs);
  call->done = true;
  return true;
}

static size_t write_cave(const struct tide_stopped *thread, uint64_t cave,
                         const struct tide_remote_call *call, uint8_t code[TIDE_CAVE_BYTES])
{
  struct tide_cave_log log = {.magic = TIDE_CAVE_MAGIC};
  bool maps = call->number == SYS_mmap || call->number == SYS_munmap;
  if (maps && call->arguments[0])
    log.range = (struct tide_range){(uint64_t)call->arguments[0], (uint64_t)call->arguments[1]};
  memcpy(code, &log, sizeof log);
  size_t bytes = tide_regs_write_call(&thread->regs, call, cave + sizeof log, code + sizeof log,
                                      TIDE_CAVE_BYTES - sizeof log);
  return bytes ? bytes + sizeof log : 0;
}

struct borrowed {
  struct tide_stopped *thread;
  uint64_t cave;
  uint8_t code[TIDE_CAVE_BYTES];
  size_t n_bytes; // 0: nobody can be
};

static void borrow_thread(const struct tide_tracer *tracer, const struct tide_caves *caves,
                          const struct tide_remote_call *call, struct borrowed *ret_borrowed)
{
  for (size_t i = 0; i < tracer->n; i++)
    for (size_t k = 0; k < caves->n && !ret_borrowed->n_bytes; k++) {
      ret_borrowed->thread = &tracer->threads[i];
      ret_borrowed->cave = caves->at[k];
      if (!tracer->threads[i].gone && !tracer->threads[i].signal)
        ret_borrowed->n_bytes =
            write_cave(&tracer->threads[i], caves->at[k], call, ret_borrowed->code);
    }
}

bool tide_tracer_call(struct tide_tracer *tracer, const struct tide_caves *caves,
                      struct tide_remote_call *call)
{
  struct borrowed borrowed = {0};
  borrow_thread(tracer, caves, call, &borrowed);
  struct tide_stopped *thread = borrowed.thread;
  uint64_t cave = borrowed.cave;
  size_t bytes = borrowed.n_bytes;
  tracer->hindered = "no thread can be borrowed now";
  leave_cave(tracer); // there may have been a call before
  if (!bytes || !tide_outside_read(tracer->outside, cave, tracer->cave.before, bytes))
    return false;
  tracer->cave.at = cave;
  tracer->cave.n_bytes = bytes;
  if (!tide_outside_write(tracer->outside, cave, borrowed.code, bytes))
    return false;
  bool ok = make_call(thread, cave + sizeof(struct tide_cave_log), call);
  if (!ok) { // it is delivered where the thread really is, when we let go
    siginfo_t info;
    tracer->hindered = "a signal came";
    if (!trace(PTRACE_GETSIGINFO, thread->tid, 0, (uint64_t)&info))
      thread->signal = info.si_signo;
  }
  set_regs(thread->tid, &thread->regs);
  return ok;
}

void tide_stopped_move(struct tide_stopped *thread, uint64_t pc)
{
  tide_regs_set_pc(&thread->regs, pc);
  set_regs(thread->tid, &thread->regs);
}

void tide_stopped_divert(struct tide_stopped *thread, uint64_t pc)
{
  thread->regs = tide_regs_at_call(&thread->regs, pc);
  thread->restarted_pc = 0;
  set_regs(thread->tid, &thread->regs);
}

uint64_t tide_stopped_pc(const struct tide_stopped *thread)
{
  return tide_regs_pc(&thread->regs);
}

// A piece at a time; the last words of one are looked at with those that follow them.
static bool any_met(const struct tide_tracer *tracer, const struct tide_stopped *thread,
                    uint64_t most_bytes,
                    bool (*each)(const void *context, const struct tide_met *met),
                    const void *context)
{
  if (each(context, &(struct tide_met){tide_stopped_pc(thread), true}))
    return true;
  uint64_t at = (tide_regs_sp(&thread->regs) - RED_ZONE_BYTES) & ~UINT64_C(7);
  const struct tide_mapping *stack = tide_outside_find(tracer->outside, at);
  // The list of mappings is older than the stop: a new thread's stack may not be on it.
  uint64_t end = stack && stack->hi - at < most_bytes ? stack->hi : at + most_bytes;
  TIDE_CLEANUP_FREE uint64_t *words = tide_alloc(STACK_LOOK_BYTES);
  while (at < end) {
    uint64_t bytes = end - at < STACK_LOOK_BYTES ? end - at : STACK_LOOK_BYTES;
    ssize_t got = pread(tracer->outside->memory_fd, words, bytes, (off_t)at);
    size_t n = got > 0 ? (size_t)got / sizeof *words : 0;
    for (size_t i = 0; i < n; i++)
      if (words[i] >= LOWEST_CODE &&
          each(context, &(struct tide_met){words[i], tide_regs_is_signal_pc(words + i, n - i)}))
        return true;
    if (n < STACK_LOOK_BYTES / sizeof *words)
      return false;
    at += STACK_LOOK_BYTES - SIGNAL_PC_WORDS * sizeof *words;
  }
  return false;
}

bool tide_stopped_any(const struct tide_tracer *tracer, const struct tide_stopped *thread,
                      bool (*each)(const void *context, const struct tide_met *met),
                      const void *context)
{
  return any_met(tracer, thread, STACK_LOOK_BYTES, each, context);
}

bool tide_stopped_any_deep(const struct tide_tracer *tracer, const struct tide_stopped *thread,
                           bool (*each)(const void *context, const struct tide_met *met),
                           const void *context)
{
  return any_met(tracer, thread, TIDE_AGENT_STACK_BYTES, each, context);
}

// Thread numbers.

enum { CONTROL_BLOCK_BYTES = 2304 };

// Page by page, for it may be smaller, and the first or the last thing that is mapped there.
static bool read_control_block(const struct tide_tracer *tracer, const struct tide_stopped *thread,
                               uint32_t words[CONTROL_BLOCK_BYTES / 4])
{
  enum { PAGE = 4096 };
  uint64_t tp = tide_regs_thread_pointer(&thread->regs, thread->tid);
  uint64_t from = tp + (uint64_t)tide_regs_control_block_at;
  bool any = false;
  memset(words, 0, CONTROL_BLOCK_BYTES);
  for (uint64_t at = 0, n; tp && at < CONTROL_BLOCK_BYTES; at += n) {
    n = PAGE - (from + at) % PAGE;
    n = n < CONTROL_BLOCK_BYTES - at ? n : CONTROL_BLOCK_BYTES - at;
    any |= tide_outside_read(tracer->outside, from + at, (char *)words + at, n);
  }
  return any;
}

int32_t tide_tracer_tid_offset(const struct tide_tracer *tracer)
{
  uint32_t words[CONTROL_BLOCK_BYTES / 4];
  bool fits[CONTROL_BLOCK_BYTES / 4];
  size_t n = sizeof fits;
  memset(fits, true, sizeof fits);
  for (size_t i = 0; i < tracer->n; i++) {
    const struct tide_stopped *t = &tracer->threads[i];
    if (t->gone)
      continue;
    uint32_t number = tide_thread_own_number((pid_t)tracer->outside->pid, t->tid);
    if (!read_control_block(tracer, t, words))
      return 0;
    for (size_t k = 0; k < n; k++)
      fits[k] &= words[k] == number;
  }
  for (size_t k = 0; k < n; k++)
    if (fits[k])
      return (int32_t)(tide_regs_control_block_at + (int64_t)k * 4);
  return 0;
}

uint32_t tide_tracer_born(uint32_t pid)
{
  struct tide_proc_stat stat;
  return tide_proc_stat(pid, &stat) ? (uint32_t)stat.born : 0;
}

bool tide_tracer_lives(uint32_t pid, uint32_t since)
{
  return pid && since && tide_tracer_born(pid) == since;
}
