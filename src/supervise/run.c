// SPDX-License-Identifier: Apache-2.0
//
// A run from start to end. Order matters:
//  1. the door listens before the fork, so the command finds it;
//  2. the fork comes before our threads, so the child is a plain single-threaded process;
//  3. the child's pid names the output, which is reserved before the exec, so that a refusal costs
//     nothing;
//  4. the door closes before the stores are read for the last time.
// What happens between start and end, signals and waiting, is in follow.c.
#define _GNU_SOURCE
#include "supervise/run.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/proc.h"
#include "model/capture.h"
#include "observe/store_read.h"
#include "supervise/door.h"
#include "supervise/follow.h"
#include "supervise/output_name.h"
#include "supervise/spawn.h"
#include "supervise/stayers.h"
#include "supervise/target_check.h"
#include "supervise/usher.h"
#include "supervise/watch.h"
#include "tide/file.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct run {
  const struct tide_run_options *options;
  struct tide_target target;
  struct tide_clock_reading start;
  struct tide_door *door;
  struct tide_agents *agents; // NULL: preloads only
  pthread_mutex_t agents_lock;
  bool is_agents;     // the command is to have the agent
  char unhooked[512]; // functions of an allocator of it that could not be hooked; ""
  struct tide_kin *kin;
  struct tide_watch *watch;
  struct tide_dumps *dumps; // NULL: none
  struct tide_follow follow;
  struct tide_spawn spawn;
  char *output_path;
  struct tide_output_state output;
  struct tide_stayers left;
  uint64_t command_born;    // 0: not known
  uint64_t own_rss_bytes;   // our own high water mark when the command was forked off
  uint64_t own_cpu_ns;      // and our own processor time
  uint64_t children_cpu_ns; // and that of children we had before
};

static void run_done(struct run *run)
{
  tide_door_close(run->door);
  free(tide_agents_free(run->agents));
  tide_control_close(run->options->control);
  tide_watch_free(run->watch);
  tide_dumps_free(run->dumps);
  tide_kin_free(run->kin);
  tide_follow_done(&run->follow);
  tide_stayers_done(&run->left);
  tide_target_done(&run->target);
  free(run->output_path);
}

static enum tide_err check_library(const char *library, struct tide_diag *diag)
{
  if (access(library, R_OK))
    return tide_fail_errno(diag, "cannot read the recorder, %s", library);
  if (strpbrk(library, " :"))
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "the recorder's path, %s, has a space or colon, which LD_PRELOAD cannot "
                     "express: install tidemark elsewhere",
                     library);
  return TIDE_ERR_OK;
}

static uint64_t cpu_ns_of(int who)
{
  struct rusage usage = {0};
  getrusage(who, &usage);
  return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000 +
         ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000;
}

static enum tide_err spawn(struct run *run, struct tide_diag *diag)
{
  const struct tide_run_options *options = run->options;
  TIDE_CLEANUP_FREE char *depth =
      options->depth ? tide_sprintf(",depth=%u", options->depth) : tide_strdup("");
  TIDE_CLEANUP_FREE char *sample = options->sample_bits
                                       ? tide_sprintf(",sample=%u", 1u << options->sample_bits)
                                       : tide_strdup("");
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("socket=%s,filters=%u%s%s%s", tide_door_name(run->door), tide_host_filters(),
                   depth, sample, options->no_follow ? ",follow=0" : "");
  extern char **environ;
  struct rusage usage = {0};
  getrusage(RUSAGE_SELF, &usage);
  run->own_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
  run->own_cpu_ns = cpu_ns_of(RUSAGE_SELF);
  run->children_cpu_ns = cpu_ns_of(RUSAGE_CHILDREN);
  bool preload = run->target.preload && !(run->is_agents && options->how == TIDE_HOW_AGENT);
  char **environment = tide_spawn_environment(environ, preload ? options->library : NULL, text);
  char **bare = tide_spawn_environment(environ, NULL, text);
  struct tide_spawn_options spawning = {
      .argv = options->argv,
      .environment = environment,
      .bare = bare,
      .mask = &run->follow.old_mask,
      .stdio = options->stdio,
      .is_traced = run->is_agents,
      .ignore_sigchld = run->follow.sigchld_was_ignored,
  };
  enum tide_err err = tide_spawn_start(&spawning, &run->spawn, diag);
  tide_spawn_environment_free(environment);
  tide_spawn_environment_free(bare);
  return err;
}

// A process that is about to become, or to start, what preloads do not cover waits while the door
// hears of it: the moment to take hold of it.
static bool see_to(const struct run *run, const struct tide_door_visit *visit)
{
  char why[512];
  bool spawns = visit->flags & TIDE_DOOR_SPAWNS;
  bool is_own = visit->pid && visit->pid == visit->teller_pid;
  struct tide_usher_order order = {.tid = visit->tid, .spawns = spawns};
  const char *name = visit->exe ? strrchr(visit->exe, '/') : NULL;
  snprintf(order.program, sizeof order.program, "%s",
           name         ? name + 1
           : visit->exe ? visit->exe
                        : "");
  return visit->tid && is_own && tide_usher_could_help(visit->why, NULL) &&
         tide_agents_take(run->agents, &order, why);
}

static bool receive_visit(void *context, const struct tide_door_visit *visit)
{
  struct run *run = context;
  bool is_seen_to = false;
  if (run->agents && visit->flags & (TIDE_DOOR_ABSENT | TIDE_DOOR_SPAWNS))
    is_seen_to = see_to(run, visit);
  else if (run->agents && visit->flags & TIDE_DOOR_STAYED)
    tide_agents_leave(run->agents, visit->tid);
  bool is_taken = !(visit->flags & TIDE_DOOR_SPAWNS) && tide_watch_receive(run->watch, visit);
  return is_taken || is_seen_to;
}

static bool receive_guest(void *context, const struct tide_door_visit *visit)
{
  struct run *run = context;
  struct stat store;
  if (visit->store_fd >= 0 && !fstat(visit->store_fd, &store))
    tide_kin_gave_store(run->kin, store.st_ino);
  return tide_watch_receive(run->watch, visit);
}

static void look_again(void *context, uint32_t pid)
{
  struct run *run = context;
  pthread_mutex_lock(&run->agents_lock);
  if (run->agents)
    tide_agents_look_again(run->agents, pid);
  pthread_mutex_unlock(&run->agents_lock);
}

static struct tide_agents *take_agents(struct run *run)
{
  pthread_mutex_lock(&run->agents_lock);
  struct tide_agents *agents = run->agents;
  run->agents = NULL;
  pthread_mutex_unlock(&run->agents_lock);
  return agents;
}

static void make_agents(struct run *run)
{
  const struct tide_run_options *o = run->options;
  const struct tide_target *target = &run->target;
  const struct tide_usher_house house = {.agent = o->agent,
                                         .debug_dirs = o->debug_dirs,
                                         .library = o->library,
                                         .door = tide_door_name(run->door),
                                         .depth = o->depth,
                                         .sample_bits = o->sample_bits,
                                         .how = o->how,
                                         .follows = !o->no_follow,
                                         .pid = (uint32_t)getpid()};
  if (o->how == TIDE_HOW_PRELOAD || !o->agent)
    return;
  run->is_agents =
      target->unfit ? tide_usher_could_help(target->why, target->detail) : o->how == TIDE_HOW_AGENT;
  run->agents = tide_agents_new(&house, receive_guest, run);
  // Where the run waits for every child, it must not be one of those. What cannot be made now is
  // missed when it is needed.
  if (run->is_agents || o->wait)
    tide_agents_prepare(run->agents);
}

// Each image takes three descriptors of ours while it lives, and a store counts as a file of its
// full size, which is never written in full. Only after the fork: limits are inherited.
static void raise_limits(void)
{
  static const int limited[] = {RLIMIT_NOFILE, RLIMIT_FSIZE};
  for (size_t i = 0; i < sizeof limited / sizeof *limited; i++) {
    struct rlimit limit;
    if (getrlimit(limited[i], &limit))
      continue;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(limited[i], &limit);
  }
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}); // root may
}

static void dump_when_asked(void *context)
{
  const struct run *run = context;
  tide_watch_dump(run->watch);
}

static uint64_t born_of(pid_t pid)
{
  struct tide_proc_stat stat;
  return tide_proc_stat((uint32_t)pid, &stat) ? stat.born : 0;
}

static enum tide_err get_ready(struct run *run, struct tide_diag *diag)
{
  const struct tide_run_options *options = run->options;
  run->output_path = tide_output_name(options->output ? options->output : TIDE_OUTPUT_DEFAULT,
                                      options->argv[0], run->spawn.pid);
  enum tide_err err = tide_output_reserve(run->output_path, options->force, &run->output, diag);
  if (!err && options->dumps)
    err = tide_dumps_new(options->dumps, run->output_path, run->start.monotonic_ns, &run->dumps,
                         diag);
  if (err)
    return err;
  raise_limits();
  run->kin = tide_kin_new();
  run->watch = tide_watch_new(&(struct tide_watch_options){
      .root_pid = (uint32_t)run->spawn.pid,
      .kin = run->kin,
      .library = options->library,
      .root_only = options->no_follow,
      .starts_paused = options->starts_paused,
      .redact_args = options->redact_args,
      .output_path = run->output.replaceable ? run->output_path : NULL,
      .start = run->start,
      .control = options->control,
      .dumps = run->dumps,
      .objects_changed = look_again,
      .objects_context = run,
      .finish_fd = run->follow.finish_fd,
  });
  run->command_born = born_of(run->spawn.pid);
  const struct tide_target *target = &run->target;
  if (target->unfit && !tide_why_is_partial(target->why) && !run->is_agents)
    tide_watch_unfit_command(run->watch, target->path, target->why, target->detail);
  run->follow.asking_signal = tide_dumps_signal(options->dumps);
  run->follow.asked = dump_when_asked;
  run->follow.asked_context = run;
  err = tide_watch_start(run->watch, diag);
  if (!err)
    err = tide_door_serve(run->door, run->kin, receive_visit, run, diag);
  return err;
}

static enum tide_err exec_failed(const char *command, int exec_errno, struct tide_diag *diag)
{
  errno = exec_errno;
  tide_fail_errno(diag, "cannot run %s", command);
  return exec_errno == ENOENT || exec_errno == ENOTDIR ? TIDE_ERR_NOT_FOUND : TIDE_ERR_UNSUPPORTED;
}

static void say_sentence(const struct run *run, const char *because)
{
  const struct tide_run_options *o = run->options;
  TIDE_CLEANUP_FREE char *text =
      run->target.sentence && because
          ? tide_sprintf("%s (the agent could not be used: %s)", run->target.sentence, because)
      : run->target.sentence ? tide_strdup(run->target.sentence)
      : because
          ? tide_sprintf("%s is not recorded: the agent could not be used: %s", o->argv[0], because)
          : NULL;
  if (text && o->say)
    o->say(o->say_context, text);
}

static const char *why_not_agent(const struct run *run)
{
  const struct tide_target *target = &run->target;
  bool could_help = target->unfit && tide_usher_could_help(target->why, target->detail);
  bool is_missed = could_help && run->options->how == TIDE_HOW_AUTO && !run->options->agent;
  return is_missed ? "its file is not installed" : NULL;
}

// The command goes without the agent after all.
static void do_without_agent(struct run *run, const char *because)
{
  const struct tide_target *target = &run->target;
  struct tide_proc_stat stat = {0};
  uint32_t pid = (uint32_t)run->spawn.pid;
  run->is_agents = false;
  tide_proc_stat(pid, &stat);
  const struct tide_door_visit word = {.pid = pid,
                                       .told_pid = pid,
                                       .flags = TIDE_DOOR_ABSENT,
                                       .pid_fd = -1,
                                       .store_fd = -1,
                                       .time_ns = tide_monotonic_ns(),
                                       .born = stat.born,
                                       .why = target->unfit ? target->why : TIDE_WHY_UNKNOWN,
                                       .exe = target->path,
                                       .teller_pid = pid};
  if (!target->unfit || !tide_why_is_partial(target->why))
    tide_watch_receive(run->watch, &word);
  say_sentence(run, because);
}

// Lets the command begin, with the agent or without.
static bool go(struct run *run, int *ret_errno)
{
  const struct tide_usher_order order = {.tid = run->spawn.pid, .is_command = true};
  char why[512];
  bool is_taken = run->is_agents && tide_agents_take(run->agents, &order, why);
  bool is_alone = run->target.unfit && run->target.why == TIDE_WHY_STATIC && !is_taken;
  if (!tide_spawn_go(&run->spawn, is_alone && tide_target_musl_is_here(), ret_errno))
    return false;
  struct tide_usher_word word = {0};
  bool is_told = is_taken && tide_agents_await(run->agents, &word);
  if (is_told && word.step == TIDE_USHER_ATTACHED)
    snprintf(run->unhooked, sizeof run->unhooked, "%s", word.text);
  if (is_told && word.step == TIDE_USHER_FAILED)
    do_without_agent(run, word.text);
  else if (run->is_agents && !is_taken)
    do_without_agent(run, why);
  return true;
}

static enum tide_err start_command(struct run *run, struct tide_diag *diag)
{
  enum tide_err err = tide_follow_init(&run->follow, run->options->wait, diag);
  if (!err)
    err = tide_door_open(&run->door, diag);
  if (!err)
    make_agents(run);
  if (!err && !run->is_agents)
    say_sentence(run, why_not_agent(run));
  if (!err)
    err = spawn(run, diag);
  if (err)
    return err;
  err = get_ready(run, diag);
  if (err) {
    tide_spawn_cancel(&run->spawn);
  } else {
    int exec_errno = 0;
    if (!go(run, &exec_errno))
      err = exec_failed(run->options->argv[0], exec_errno, diag);
  }
  if (err && run->output.created)
    tide_output_release(run->output_path);
  if (!err && run->options->started)
    run->options->started(run->options->companion, run->output_path);
  return err;
}

static char *why_nothing(const struct run *run)
{
  if (run->target.sentence && !run->is_agents)
    return tide_strdup(run->target.sentence);
  int store_errno = tide_watch_store_errno(run->watch);
  if (store_errno == EFBIG)
    return tide_strdup("nothing was recorded: the recorder's memory counts as a large file, and "
                       "files are limited here; raise the limit (ulimit -f unlimited)");
  if (store_errno)
    return tide_sprintf("nothing was recorded: no memory for the recorder: %s",
                        strerror(store_errno));
  if (run->unhooked[0]) {
    TIDE_CLEANUP_FREE char *what = tide_why_sentence(TIDE_WHY_UNHOOKED, run->unhooked);
    TIDE_CLEANUP_FREE char *way_out = tide_why_way_out(TIDE_WHY_UNHOOKED, run->unhooked);
    return tide_sprintf("nothing was recorded: the program %s; %s", what, way_out);
  }
  if (tide_watch_was_visited(run->watch))
    return tide_strdup("nothing was recorded: the program came to its end before its first "
                       "allocation");
  return tide_strdup("nothing was recorded: the program never called an allocator that the "
                     "recorder could see");
}

static void save_capture(const struct run *run, struct tide_run_result *result)
{
  struct stat st;
  if (result->capture->n_images)
    result->save_err = tide_file_write(result->capture, run->output_path, &result->save_diag);
  if (result->capture->n_images && !result->save_err) {
    result->output_path = tide_strdup(run->output_path);
    result->output_bytes = stat(run->output_path, &st) ? 0 : (uint64_t)st.st_size;
  } else if (run->output.created) {
    tide_output_release(run->output_path);
  }
}

// What the command left behind.
static void wait_for_rest(struct run *run, const struct tide_watch_end *end)
{
  const struct tide_run_options *options = run->options;
  if (!tide_follow_left_any(&run->follow))
    return;
  if (options->waiting)
    options->waiting(options->argv[0]);
  tide_watch_root_ended(run->watch, end);
  tide_follow_rest(&run->follow);
}

// … without a store so far. The door is still open.
static void find_left(struct run *run)
{
  const struct tide_run_options *options = run->options;
  const struct tide_stayer_search search = {
      .kin = run->kin, .door = tide_door_name(run->door), .command_born = run->command_born};
  if (options->finds_left && !options->no_follow)
    tide_stayers_await(&search, &run->left);
}

// The run was about the command, which nobody recorded: what a reader asks about is there, and
// holds nothing.
static void add_unrecorded(const struct run *run, const struct tide_watch_end *end,
                           struct tide_capture *capture)
{
  struct tide_unrecorded *row = &capture->roll.rows[0]; // the command comes first
  // Nobody looked at its last moments but the kernel, which counts those it waited for, too.
  bool is_alone = capture->roll.n_rows == 1 && row->is_command && row->n_processes == 1;
  if (is_alone && end->max_rss_bytes > row->max_rss_bytes)
    row->max_rss_bytes = end->max_rss_bytes;
  const char *path = run->target.path ? run->target.path : run->options->argv[0];
  struct tide_image *image = tide_image_unrecorded((uint32_t)run->spawn.pid,
                                                   row->is_command && *row->exe ? row->exe : path);
  struct tide_buf words = {0};
  for (char *const *word = run->options->argv; *word; word++)
    if (word == run->options->argv || !run->options->redact_args)
      tide_buf_append(&words, *word, strlen(*word) + 1);
  free(image->cmdline);
  image->cmdline = (char *)words.data;
  image->cmdline_len = (uint32_t)words.n;
  image->ppid = (uint32_t)getpid();
  image->end_ns = image->max_rss_ns = end->time_ns - run->start.monotonic_ns;
  image->end_kind = end->kind;
  image->end_value = end->value;
  image->has_resident = image->rss_is_own = true;
  image->max_rss_bytes = end->max_rss_bytes;
  image->max_rss_live_bytes = -1;
  image->cpu_ns = end->cpu_ns;
  free(capture->images); // of none
  capture->images = image;
  capture->n_images = 1;
  capture->duration_ns = image->end_ns;
}

// How the command ended; it runs on where the recording was told to end before it.
static struct tide_watch_end watch_end_of(const struct run *run, bool has_ended,
                                          const struct tide_follow_end *end)
{
  if (!has_ended)
    return (struct tide_watch_end){.kind = TIDE_END_UNKNOWN, .time_ns = tide_monotonic_ns()};
  return (struct tide_watch_end){
      .kind = end->term_signal ? TIDE_END_SIGNALED : TIDE_END_EXITED,
      .value = end->term_signal ? end->term_signal : end->exit_status,
      .time_ns = end->time_ns,
      // Before its exec the command was a copy of us: what is less than that says nothing.
      .max_rss_bytes = end->max_rss_bytes > run->own_rss_bytes ? end->max_rss_bytes : 0,
      .ceiling_bytes = end->max_rss_bytes,
      .cpu_ns = end->cpu_ns,
  };
}

// Our children are the command and what it left behind, each with all that it waited for.
static struct tide_cost cost_so_far(const struct run *run)
{
  const struct tide_run_options *options = run->options;
  uint64_t own_ns = cpu_ns_of(RUSAGE_SELF) - run->own_cpu_ns;
  uint64_t other_ns = options->spent_ns ? options->spent_ns(options->companion) : 0;
  return (struct tide_cost){.cpu_ns = cpu_ns_of(RUSAGE_CHILDREN) - run->children_cpu_ns,
                            .supervisor_ns = own_ns > other_ns ? own_ns - other_ns : 0};
}

// A command with the agent that never came to it: nothing that it did could be seen.
static void add_unhooked(const struct run *run, const struct tide_watch_end *end,
                         struct tide_capture *capture)
{
  if (!run->unhooked[0])
    return;
  const struct tide_unrecorded row = {.exe = run->target.path,
                                      .why = TIDE_WHY_UNHOOKED,
                                      .detail = (char *)run->unhooked,
                                      .pid = (uint32_t)run->spawn.pid,
                                      .n_processes = 1,
                                      .is_command = true,
                                      .end_ns = end->time_ns - run->start.monotonic_ns,
                                      .max_rss_bytes = end->max_rss_bytes};
  tide_roll_add(&capture->roll, &row);
}

static void make_capture(struct run *run, const struct tide_watch_end *end, struct tide_cost cost,
                         struct tide_run_result *result)
{
  struct tide_capture *capture = tide_watch_stop(run->watch, end, &result->n_running);
  result->capture = capture;
  cost.recorder_ns = capture->cost.recorder_ns;
  if (cost.recorder_ns > cost.cpu_ns)
    cost.recorder_ns = cost.cpu_ns;
  capture->cost = cost;
  capture->has_cost = end->kind != TIDE_END_UNKNOWN; // of a command that runs on it is not known
  if (capture->n_images)
    tide_stayers_tell(&run->left, capture);
  if (!capture->n_images) {
    result->note = why_nothing(run);
    add_unhooked(run, end, capture);
    if (capture->roll.n_rows)
      add_unrecorded(run, end, capture);
  }
  if (run->options->complete)
    run->options->complete(capture);
}

static void finish_run(struct run *run, struct tide_run_result *result)
{
  struct tide_follow_end end = {0};
  bool has_ended = tide_follow_to_end(&run->follow, run->spawn.pid, &end);
  const struct tide_watch_end watch_end = watch_end_of(run, has_ended, &end);
  if (has_ended)
    wait_for_rest(run, &watch_end);
  struct tide_cost cost = cost_so_far(run);
  find_left(run);
  tide_door_close(run->door);
  run->door = NULL;
  char *agent_note = tide_agents_free(take_agents(run));
  *result = (struct tide_run_result){
      .pid = (uint32_t)run->spawn.pid,
      .wall_ns = watch_end.time_ns - run->start.monotonic_ns,
  };
  make_capture(run, &watch_end, cost, result);
  result->agent_note = agent_note;
  result->dumps_note = run->dumps ? tide_dumps_summary(run->dumps) : NULL;
  save_capture(run, result);
  while (!has_ended)
    has_ended = tide_follow_to_end(&run->follow, run->spawn.pid, &end);
  result->exit_status = end.exit_status;
  result->term_signal = end.term_signal;
  result->core_dumped = end.core_dumped;
}

enum tide_err tide_run(const struct tide_run_options *options, struct tide_run_result *ret_result,
                       struct tide_diag *diag)
{
  struct run run = {
      .options = options, .start = tide_clock_read(), .agents_lock = PTHREAD_MUTEX_INITIALIZER};
  enum tide_err err = check_library(options->library, diag);
  if (!err) {
    tide_target_check(options->argv[0], &run.target);
    err = start_command(&run, diag);
  }
  if (!err)
    finish_run(&run, ret_result);
  run_done(&run);
  return err;
}

void tide_run_result_done(struct tide_run_result *result)
{
  tide_capture_free(result->capture);
  free(result->output_path);
  free(result->note);
  free(result->agent_note);
  free(result->dumps_note);
  *result = (struct tide_run_result){0};
}

int tide_run_error_status(enum tide_err err)
{
  return err == TIDE_ERR_NOT_FOUND ? 127 : err == TIDE_ERR_UNSUPPORTED ? 126 : 125;
}

void tide_run_raise(int signal_number)
{
  // A core_pattern that is a program is started whatever the limit says, unless we are not
  // dumpable.
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  prctl(PR_SET_DUMPABLE, 0);
  signal(signal_number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal_number);
  sigprocmask(SIG_UNBLOCK, &one, NULL);
  raise(signal_number);
}
