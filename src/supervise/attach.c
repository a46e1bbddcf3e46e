// SPDX-License-Identifier: Apache-2.0
//
// Order matters: the output is reserved before the process is touched; the helper is forked before
// our threads; the process is let go before the store is read for the last time, so that nobody
// writes it any more.
#define _GNU_SOURCE
#include "supervise/attach.h"

#include "attach/leftovers.h"
#include "attach/sandbox.h"
#include "base/alloc.h"
#include "base/proc.h"
#include "observe/clock.h"
#include "store/agent_face.h"
#include "supervise/output_name.h"
#include "supervise/pidfd.h"
#include "supervise/target_check.h"
#include "supervise/watch.h"
#include "tide/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// ---- candidates ----
//
// The order is that of what is most to the point: a process under valgrind is also
// one without an allocator that is known.

// The line has one number for each namespace from ours inwards.
static uint32_t number_inside(uint32_t pid)
{
  char text[256];
  const char *last = NULL;
  if (tide_proc_status(pid, 0, "NSpid", text, sizeof text))
    last = strrchr(text, '\t');
  return last ? (uint32_t)strtoul(last, NULL, 10) : 0;
}

enum tide_err tide_candidate_read(uint32_t pid, struct tide_candidate *ret_candidate,
                                  struct tide_diag *diag)
{
  struct tide_candidate c = {.pid = pid};
  struct tide_proc_stat stat;
  if (!tide_proc_stat(pid, &stat) || !tide_proc_name(pid, c.name, sizeof c.name))
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "there is no process %u", pid);
  if (!tide_proc_exe(pid, c.exe, sizeof c.exe))
    c.exe[0] = 0;
  snprintf(c.file, sizeof c.file, "/proc/%u/exe", pid);
  c.inside_pid = number_inside(pid);
  if (c.inside_pid)
    snprintf(c.where, sizeof c.where, "%u (%s, %u inside its container)", pid, c.name,
             c.inside_pid);
  else
    snprintf(c.where, sizeof c.where, "%u (%s)", pid, c.name);
  *ret_candidate = c;
  return TIDE_ERR_OK;
}

bool tide_candidate_is_elsewhere(const struct tide_candidate *candidate)
{
  return !tide_proc_shares(candidate->pid, "root") || !tide_proc_shares(candidate->pid, "ns/mnt");
}

// The kernel's own processes have no memory, and one parent, which is their first. Another's is
// gone a moment before it is seen to have ended.
static enum tide_err check_memory(const struct tide_candidate *c, const struct tide_proc_stat *stat,
                                  struct tide_diag *diag)
{
  enum { KERNELS_FIRST = 2 };
  char text[64];
  if (tide_proc_status(c->pid, 0, "VmSize", text, sizeof text))
    return TIDE_ERR_OK;
  if (c->pid == KERNELS_FIRST || stat->parent == KERNELS_FIRST)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "process %s is one of the kernel's own, and has no memory to record",
                     c->where);
  return tide_fail(diag, TIDE_ERR_NOT_FOUND, "process %s has ended", c->where);
}

static enum tide_err check_ended(const struct tide_candidate *c, struct tide_diag *diag)
{
  struct tide_proc_stat stat;
  char parent[16] = "?";
  if (!tide_proc_stat(c->pid, &stat))
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "process %s has ended", c->where);
  if (stat.state != 'Z' && stat.state != 'X')
    return check_memory(c, &stat, diag);
  tide_proc_name(stat.parent, parent, sizeof parent);
  return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                   "process %s has ended already; process %u (%s), which started it, has not taken "
                   "note of that yet",
                   c->where, stat.parent, parent);
}

static bool is_under_valgrind(uint32_t pid)
{
  return tide_proc_maps_hold(pid, "/vgpreload_") || tide_proc_maps_hold(pid, "/valgrind/");
}

static enum tide_err check_program(const struct tide_candidate *c, struct tide_diag *diag)
{
  enum tide_why why;
  char *detail = NULL;
  enum tide_err err = TIDE_ERR_OK;
  bool is_unfit = tide_target_judge(c->file, &why, &detail);
  if (is_unfit && why == TIDE_WHY_BITS_32)
    err = tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                    "process %s is a 32-bit program, which tidemark cannot record: build it for 64 "
                    "bits",
                    c->where);
  else if (is_unfit && why == TIDE_WHY_OTHER_MACHINE)
    err = tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                    "process %s is a program for another kind of processor, which an emulator runs",
                    c->where);
  else if (is_unfit && strstr(detail, "Sanitizer"))
    err = tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                    "process %s has %s, which needs its allocator for itself: build it without, or "
                    "use what it reports",
                    c->where, detail);
  free(detail);
  return err;
}

// A tidemark has the stores of those it is attached to open, and soon mapped, which would be taken
// for what a killed one has left in it, and taken away.
static bool is_attached_to_others(uint32_t pid)
{
  char program[PATH_MAX];
  int fds[TIDE_LEFT_FDS];
  const char *name = tide_proc_exe(pid, program, sizeof program) ? strrchr(program, '/') : NULL;
  return name && !strncmp(name, "/tidemark", 9) &&
         (tide_leftovers_fds(pid, fds) ||
          tide_proc_maps_hold(pid, "/memfd:" TIDE_AGENT_STORE_NAME));
}

// By an agent, that of a run or of another tidemark.
static enum tide_err check_recorder(uint32_t pid, struct tide_diag *diag)
{
  bool is_run;
  struct tide_outside *outside;
  struct tide_diag ignored;
  if (tide_outside_open(pid, true, &outside, &ignored))
    return TIDE_ERR_OK;
  uint32_t recorder = tide_leftovers_recorder(outside, &is_run);
  tide_outside_close(outside);
  return recorder ? tide_leftovers_refuse(pid, recorder, is_run, diag) : TIDE_ERR_OK;
}

// What only its mappings tell, which take the right to trace.
static enum tide_err check_mappings(const struct tide_candidate *c, struct tide_diag *diag)
{
  if (is_under_valgrind(c->pid))
    return tide_fail(
        diag, TIDE_ERR_UNSUPPORTED,
        "process %s runs under valgrind, which has an allocator and a processor of its "
        "own: start the program without it",
        c->where);
  if (is_attached_to_others(c->pid))
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "process %s is a tidemark that is attached to others: attach to one of those",
                     c->where);
  if (tide_proc_maps_hold(c->pid, "/libtidemark.so"))
    return tide_fail(diag, TIDE_ERR_EXISTS,
                     "process %s is recorded already: 'tidemark run', or a preloaded "
                     "libtidemark.so, started it; that recording has every allocation",
                     c->where);
  return check_recorder(c->pid, diag);
}

enum tide_err tide_candidate_check(const struct tide_candidate *candidate, struct tide_diag *diag)
{
  uint32_t pid = candidate->pid;
  if (pid == (uint32_t)getpid())
    return tide_fail(diag, TIDE_ERR_USAGE, "process %u is this tidemark itself", pid);
  enum tide_err err = check_ended(candidate, diag);
  if (!err)
    err = tide_permission_check(pid, diag);
  if (!err)
    err = check_program(candidate, diag);
  if (!err)
    err = check_mappings(candidate, diag);
  return err;
}

// ---- attaching ----

struct session {
  const struct tide_attach_options *options;
  struct tide_clock_reading start;
  struct tide_helper *helper;
  struct tide_kin *kin;
  struct tide_watch *watch;
  struct tide_dumps *dumps; // NULL: none
  struct tide_candidate process;
  char *output_path;
  struct tide_output_state output;
  char unhooked[512]; // functions of an allocator of it that could not be hooked; ""
  int pid_fd, signal_fd, finish_fd;
  sigset_t old_mask;
};

// What ended the recording must not end us now.
static void forget_signals(const struct session *s)
{
  struct signalfd_siginfo signal;
  struct pollfd pending = {s->signal_fd, POLLIN, 0};
  while (s->signal_fd >= 0 && poll(&pending, 1, 0) == 1 &&
         read(s->signal_fd, &signal, sizeof signal) > 0)
    ;
}

static void session_done(struct session *s)
{
  forget_signals(s);
  tide_control_close(s->options->control);
  tide_helper_free(s->helper);
  tide_watch_free(s->watch);
  tide_dumps_free(s->dumps);
  tide_kin_free(s->kin);
  free(s->output_path);
  const int fds[] = {s->pid_fd, s->signal_fd, s->finish_fd};
  for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
    if (fds[i] >= 0)
      close(fds[i]);
  sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

// What would end us ends the recording, and the process goes on.
static enum tide_err prepare(struct session *s, struct tide_diag *diag)
{
  sigset_t ends;
  const struct tide_attach_options *o = s->options;
  sigemptyset(&ends);
  const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    sigaddset(&ends, signals[i]);
  if (tide_dumps_signal(o->dumps))
    sigaddset(&ends, tide_dumps_signal(o->dumps));
  sigprocmask(SIG_BLOCK, &ends, &s->old_mask);
  s->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC);
  s->finish_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  s->pid_fd = (int)syscall(SYS_pidfd_open, (pid_t)o->pid, 0);
  if (s->pid_fd < 0 && errno == ESRCH)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "there is no process %u", o->pid);
  if (s->pid_fd < 0 || s->signal_fd < 0 || s->finish_fd < 0)
    return tide_fail_errno(diag, "cannot wait for process %u", o->pid);
  enum tide_err err = tide_candidate_read(o->pid, &s->process, diag);
  if (!err)
    err = tide_candidate_check(&s->process, diag);
  if (err)
    return err;
  s->output_path =
      tide_output_name(o->output ? o->output : TIDE_OUTPUT_DEFAULT,
                       s->process.exe[0] ? s->process.exe : s->process.name, (pid_t)o->pid);
  err = tide_output_reserve(s->output_path, o->force, &s->output, diag);
  if (!err && o->dumps)
    err = tide_dumps_new(o->dumps, s->output_path, s->start.monotonic_ns, &s->dumps, diag);
  return err;
}

static void look_again(void *context, uint32_t pid)
{
  (void)pid; // there is one
  tide_helper_look_again(context);
}

static enum tide_err begin_session(struct session *s, struct tide_diag *diag)
{
  const struct tide_attach_options *o = s->options;
  struct tide_attached attached;
  struct tide_job_options helping = {.pid = o->pid,
                                     .agent = o->agent,
                                     .debug_dirs = o->debug_dirs,
                                     .store_bytes = TIDE_JOB_STORE_BYTES,
                                     .depth_limit = o->depth,
                                     .sample_bits = o->sample_bits,
                                     .starts_paused = o->starts_paused};
  enum tide_err err = tide_helper_start(&helping, &s->helper, &attached, diag);
  if (err)
    return err;
  snprintf(s->unhooked, sizeof s->unhooked, "%s", attached.unhooked);
  s->kin = tide_kin_new();
  s->watch = tide_watch_new(&(struct tide_watch_options){
      .root_pid = o->pid,
      .kin = s->kin,
      .library = o->agent,
      .root_only = true,
      .is_attached = true,
      .starts_paused = o->starts_paused,
      .redact_args = o->redact_args,
      .output_path = s->output.replaceable ? s->output_path : NULL,
      .start = s->start,
      .control = o->control,
      .dumps = s->dumps,
      .objects_changed = look_again,
      .objects_context = s->helper,
      .finish_fd = s->finish_fd,
  });
  struct tide_proc_stat stat = {0};
  tide_proc_stat(o->pid, &stat);
  const struct tide_door_visit visit = {
      .pid = o->pid,
      .told_pid = o->pid,
      .told_parent_pid = stat.parent,
      .pid_fd = dup(s->pid_fd),
      .store_fd = attached.store_fd,
      .time_ns = tide_monotonic_ns(),
      .born = stat.born,
  };
  if (!tide_watch_receive(s->watch, &visit))
    return tide_fail(diag, TIDE_ERR_LIMIT, "no descriptor is left to watch process %u", o->pid);
  err = tide_watch_start(s->watch, diag);
  if (!err && o->attached)
    o->attached(o->companion, &attached, &s->process, s->output_path);
  return err;
}

// Is it one that asks for a dump, which it gets? Others end the recording.
static bool asks_for_dump(const struct session *s)
{
  struct signalfd_siginfo signal;
  int asking = tide_dumps_signal(s->options->dumps);
  if (!asking || read(s->signal_fd, &signal, sizeof signal) != (ssize_t)sizeof signal ||
      signal.ssi_signo != (uint32_t)asking)
    return false;
  tide_watch_dump(s->watch);
  return true;
}

// True: the process has ended.
static bool wait_for_end(const struct session *s)
{
  struct pollfd fds[] = {{s->pid_fd, POLLIN, 0},
                         {s->signal_fd, POLLIN, 0},
                         {s->finish_fd, POLLIN, 0},
                         {tide_helper_fd(s->helper), POLLIN, 0}};
  uint64_t until_ns = s->options->for_ns ? tide_monotonic_ns() + s->options->for_ns : UINT64_MAX;
  for (;;) {
    uint64_t now_ns = tide_monotonic_ns();
    uint64_t left_ms = until_ns > now_ns ? (until_ns - now_ns) / 1000000 + 1 : 0;
    int n = poll(fds, sizeof fds / sizeof *fds, left_ms > 1000 ? 1000 : (int)left_ms);
    if (n > 0 && !fds[0].revents && fds[1].revents && asks_for_dump(s))
      continue;
    if (n > 0 && fds[3].revents && !tide_helper_has_let_go(s->helper)) {
      fds[3].fd = -1;
      continue;
    }
    if (n > 0)
      return poll(fds, 1, 0) > 0;
    if (tide_monotonic_ns() >= until_ns)
      return false;
  }
}

static void save_capture(const struct session *s, struct tide_run_result *result)
{
  struct stat st;
  result->save_err = tide_file_write(result->capture, s->output_path, &result->save_diag);
  if (!result->save_err) {
    result->output_path = tide_strdup(s->output_path);
    result->output_bytes = stat(s->output_path, &st) ? 0 : (uint64_t)st.st_size;
  }
}

// Of a Rust program with an allocator of its own, nobody can tell.
static char *why_nothing(const struct session *s)
{
  if (s->unhooked[0]) {
    TIDE_CLEANUP_FREE char *what = tide_why_sentence(TIDE_WHY_UNHOOKED, s->unhooked);
    return tide_sprintf("nothing was recorded: the process %s", what);
  }
  enum tide_why why;
  char *detail = NULL;
  bool is_rusts =
      tide_target_judge(s->process.file, &why, &detail) && detail && !strcmp(detail, TIDE_RUST_OWN);
  free(detail);
  TIDE_CLEANUP_FREE char *sentence = is_rusts ? tide_why_sentence(TIDE_WHY_INLINED, NULL) : NULL;
  return is_rusts ? tide_sprintf("nothing was recorded: the process called no allocator that could "
                                 "be seen meanwhile; it %s",
                                 sentence)
                  : tide_strdup("nothing was recorded: the process called no allocator meanwhile");
}

static void finish_session(struct session *s, struct tide_attach_result *result)
{
  struct tide_run_result *run = &result->run;
  result->has_ended = wait_for_end(s);
  result->detach_err = tide_helper_detach(s->helper, &result->let_go, &result->detach_diag);
  if (result->has_ended) // then there was nothing to let go
    result->detach_err = TIDE_ERR_OK;
  struct tide_watch_end end = {.kind = TIDE_END_DETACHED, .time_ns = tide_monotonic_ns()};
  if (result->let_go.was_replaced && !result->detach_err)
    end.kind = TIDE_END_EXECED;
  if (result->has_ended)
    tide_pid_end(s->pid_fd, s->options->pid, &end.kind, &end.value);
  run->pid = s->options->pid;
  run->wall_ns = end.time_ns - s->start.monotonic_ns;
  run->capture = tide_watch_stop(s->watch, &end, &run->n_running);
  run->dumps_note = s->dumps ? tide_dumps_summary(s->dumps) : NULL;
  if (!run->capture->n_images)
    run->note = why_nothing(s);
  if (s->options->complete)
    s->options->complete(s->options->companion, run->capture);
  if (run->capture->n_images)
    save_capture(s, run);
  else if (s->output.created)
    tide_output_release(s->output_path);
}

enum tide_err tide_attach(const struct tide_attach_options *options,
                          struct tide_attach_result *ret_result, struct tide_diag *diag)
{
  struct session s = {.options = options,
                      .start = tide_clock_read(),
                      .pid_fd = -1,
                      .signal_fd = -1,
                      .finish_fd = -1};
  *ret_result = (struct tide_attach_result){0};
  enum tide_err err = prepare(&s, diag);
  if (!err)
    err = begin_session(&s, diag);
  if (!err)
    finish_session(&s, ret_result);
  else if (s.output.created)
    tide_output_release(s.output_path);
  session_done(&s);
  return err;
}

void tide_attach_result_done(struct tide_attach_result *result)
{
  tide_run_result_done(&result->run);
}
