// SPDX-License-Identifier: Apache-2.0
//
// One attach: looking at the process and planning while it runs, the steps with it stopped, again
// and again while one says "later", and the way back.
#define _GNU_SOURCE
#include "attach/job.h"

#include "attach/at_exec.h"
#include "attach/job_inside.h"
#include "attach/sandbox.h"
#include "attach/signature.h"
#include "attach/thread_state.h"
#include "base/alloc.h"
#include "rt/sys.h"
#include "store/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_TRIES = 400, MAX_PLANS = 60, MAX_STRICT_PLANS = 50, MAX_PAUSE_MS = 64 };

void tide_job_unplan(struct tide_job *job)
{
  tide_attachment_done(&job->attachment);
  tide_leftovers_done(&job->left);
  tide_tracer_done(&job->tracer);
  tide_agent_image_done(&job->agent);
  tide_plan_done(&job->plan);
  tide_hookables_done(&job->entries);
  tide_loaded_list_done(&job->objects);
  tide_outside_close(job->outside);
  job->outside = NULL;
}

static void close_store(struct tide_job *job)
{
  if (job->store_fd >= 0)
    close(job->store_fd);
  job->store_fd = -1;
}

static void job_free(struct tide_job *job)
{
  tide_job_unplan(job);
  close_store(job);
  free(job);
}

static enum tide_err no_allocator(const struct tide_job *job, struct tide_diag *diag)
{
  const struct tide_plan *plan = &job->plan;
  if (plan->n_refusals)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED, "%s of process %u cannot be hooked: %s",
                     plan->refusals[0].entry.name, job->options->pid, plan->refusals[0].why);
  TIDE_CLEANUP_FREE char *advice =
      job->objects.n ? tide_signature_advice(&job->objects.all[0]) : tide_strdup("its files");
  return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                   "process %u has no allocator that is known by its symbols or its code, nor any "
                   "function that maps pages; what would help: %s",
                   job->options->pid, advice);
}

// Everything that can be seen while the process runs.
static enum tide_err look_at_process(struct tide_job *job, struct tide_diag *diag)
{
  const struct tide_job_options *o = job->options;
  enum tide_err err = tide_outside_open(o->pid, true, &job->outside, diag);
  if (err)
    return err;
  tide_loaded_list_make(job->outside, o->debug_dirs, &job->objects);
  tide_hookables_sign(&job->objects, o->debug_dirs);
  tide_tracer_init(&job->tracer, job->outside);
  tide_tracer_hold(&job->tracer, o->held);
  if (o->recorder_pid)
    job->tracer.recorder_pid = o->recorder_pid;
  return TIDE_ERR_OK;
}

// A program that begins and has no allocator at all, by its own symbols, may start others.
static bool is_for_children(const struct tide_job *job)
{
  const struct tide_plan *plan = &job->plan;
  const struct tide_loaded_list *objects = &job->objects;
  bool execs = false;
  for (size_t i = 0; i < plan->n_patches; i++)
    execs |= plan->patches[i].entry.role == TIDE_ROLE_EXEC;
  return job->options->held && execs && !plan->n_refusals && objects->n &&
         objects->all[0].elf->has_symtab;
}

static enum tide_err make_plan(struct tide_job *job, struct tide_diag *diag)
{
  const char *why;
  const struct tide_job_options *o = job->options;
  enum tide_err err = job->outside ? TIDE_ERR_OK : look_at_process(job, diag);
  if (!err)
    err = tide_agent_image_read(o->agent, &job->agent, diag);
  if (err)
    return err;
  tide_plan_make(job->outside, &job->objects, o->door, &job->plan);
  if (tide_plan_sight(&job->plan) == TIDE_SIGHT_NOTHING && !is_for_children(job))
    return no_allocator(job, diag);
  if (!tide_attachment_init(&job->attachment, &job->plan, &job->agent, &job->tracer, job->outside,
                            &job->objects, &why))
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED, "cannot attach to process %u: %s", o->pid, why);
  if (!tide_face_fill(&job->attachment,
                      &(struct tide_face_options){o->store_bytes, o->depth_limit, o->sample_bits,
                                                  o->door, o->library}))
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s is not an agent of this tidemark", o->agent);
  tide_face_of(&job->agent)->loader_state = tide_at_exec_loader_state(job->outside);
  return TIDE_ERR_OK;
}

// Steps.

static enum tide_patch_step step_map(struct tide_job *job)
{
  return tide_attachment_map(&job->attachment);
}

// With all threads stopped it shows where libc keeps their numbers.
static enum tide_patch_step step_apply(struct tide_job *job)
{
  const int32_t found[] = {tide_tracer_tid_offset(&job->tracer), -1}; // and its mask
  uint64_t at = job->attachment.mark.face + offsetof(struct tide_agent_face, tid_offset);
  _Static_assert(offsetof(struct tide_agent_face, tid_mask) ==
                     offsetof(struct tide_agent_face, tid_offset) + sizeof *found,
                 "one behind the other");
  if (found[0] && !tide_outside_write(job->outside, at, found, sizeof found))
    return TIDE_STEP_FAILED;
  return tide_attachment_apply(&job->attachment);
}

static bool is_signals_pc(const void *context, const struct tide_met *met)
{
  size_t *n = *(size_t *const *)context;
  return (*n)++ && met->is_pc; // the first is where the thread is
}

// Is it in a handler? That may be on another stack, wherever this lies.
static bool is_handling(const struct tide_tracer *t, const struct tide_stopped *thread)
{
  size_t n = 0, *count = &n;
  return tide_stopped_any_deep(t, thread, is_signals_pc, &count);
}

// Of a seat that says so. All threads are stopped: one that is none of them has ended within a hook
// (cancelled, say), and one that is above the hook on its stack has jumped out of it.
static bool is_in_hook(const struct tide_job *job, const struct tide_agent_place *place,
                       int32_t tid_offset)
{
  const struct tide_tracer *t = &job->tracer;
  for (size_t i = 0; i < t->n; i++) {
    const struct tide_stopped *thread = &t->threads[i];
    if (thread->gone ||
        tide_regs_thread_pointer(&thread->regs, thread->tid) != place->thread_pointer)
      continue;
    uint32_t tid = place->tid;
    uint64_t at = place->thread_pointer + (uint64_t)tid_offset;
    bool is_another =
        tid_offset && tide_outside_read(job->outside, at, &tid, sizeof tid) && tid != place->tid;
    bool has_jumped = tide_agent_is_above(place, tide_regs_sp(&thread->regs));
    return !is_another && (!has_jumped || is_handling(t, thread));
  }
  return false;
}

static bool is_seat_taken(const struct tide_job *job, uint64_t seats, int32_t tid_offset)
{
  enum { BATCH = 1024 };
  static struct {
    struct tide_agent_place place;
    uint8_t rest[TIDE_AGENT_SEAT_BYTES - sizeof(struct tide_agent_place)];
  } batch[BATCH];
  for (size_t n = 0; n < TIDE_AGENT_SEATS; n += BATCH) {
    if (!tide_outside_read(job->outside, seats + n * sizeof *batch, batch, sizeof batch))
      return true;
    for (size_t i = 0; i < BATCH; i++)
      if (batch[i].place.inside && is_in_hook(job, &batch[i].place, tid_offset))
        return true;
  }
  return false;
}

// An agent whose face is not there was never reached.
static bool is_at_work(void *context)
{
  struct tide_job *job = context;
  TIDE_CLEANUP_FREE struct tide_agent_face *face = tide_alloc(sizeof *face);
  uint64_t at = job->attachment.mark.face;
  if (!at || !tide_outside_read(job->outside, at, face, sizeof *face) ||
      face->magic != TIDE_AGENT_MAGIC)
    return false;
  return face->n_seatless || is_seat_taken(job, face->seats, face->tid_offset);
}

static enum tide_patch_step call_now(struct tide_job *job, struct tide_remote_call *call)
{
  struct tide_attachment *a = &job->attachment;
  if (tide_tracer_call(a->tracer, &a->caves, call))
    return TIDE_STEP_DONE;
  a->reason = a->tracer->hindered;
  return TIDE_STEP_LATER;
}

// The agent closes its store's descriptor at its first event; if there was none it is still open.
static enum tide_patch_step close_descriptors(struct tide_job *job)
{
  int fds[TIDE_LEFT_FDS];
  enum tide_patch_step step = TIDE_STEP_DONE;
  size_t n = tide_leftovers_fds(job->options->pid, fds);
  for (size_t i = 0; !step && i < n; i++)
    step = call_now(job, &(struct tide_remote_call){.number = SYS_close, .arguments = {fds[i]}});
  return step;
}

static void clean_caves(const struct tide_job *job)
{
  for (size_t i = 0; i < job->left.n_caves; i++) {
    uint8_t bytes[TIDE_CAVE_BYTES] = {0};
    const struct tide_loaded *in = job->left.caves[i].in;
    if (!in || tide_loaded_read(in, job->left.caves[i].at, bytes, sizeof bytes))
      tide_outside_write(job->outside, job->left.caves[i].at, bytes, sizeof bytes);
  }
}

// A thread that has just loaded a library waits for a tracer that looks at it (agent/loads.c),
// which is of no use any more. What nobody waits for was missed, and stays unanswered.
static void release_loader(const struct tide_job *job)
{
  TIDE_CLEANUP_FREE struct tide_agent_face *face = tide_alloc(sizeof *face);
  uint32_t changed, answered;
  uint64_t at = job->attachment.mark.face;
  if (!at || !tide_outside_read(job->outside, at, face, sizeof *face) || !face->store_at ||
      !face->n_seatless)
    return;
  uint64_t changed_at = face->store_at + offsetof(struct tide_store_header, objects_changed);
  uint64_t answered_at = face->store_at + offsetof(struct tide_store_header, objects_answered);
  if (tide_outside_read(job->outside, changed_at, &changed, sizeof changed) &&
      tide_outside_read(job->outside, answered_at, &answered, sizeof answered) &&
      changed == answered + 1)
    tide_outside_write(job->outside, answered_at, &changed, sizeof changed);
}

static bool is_reserved(const struct tide_attachment *a, uint64_t at)
{
  for (size_t i = 0; i < a->n_ranges; i++)
    if (a->ranges[i].at == at)
      return true;
  return false;
}

// The store is younger than the plan. False: there is no such process any more, or it has become
// another program.
static bool look_again(struct tide_job *job)
{
  struct tide_outside *now;
  struct tide_diag ignored;
  if (tide_outside_open(job->options->pid, true, &now, &ignored))
    return false;
  bool is_same = tide_outside_lives(job->outside);
  tide_outside_close(is_same ? job->outside : now);
  if (is_same)
    job->tracer.outside = job->outside = now;
  return is_same;
}

// A borrowed thread whose tracer was killed makes its call all the same, perhaps since we looked.
// It has left its code now, and the log there still says what it mapped.
static void take_what_came(struct tide_job *job)
{
  struct tide_leftovers now;
  if (!job->left.n_caves || !look_again(job))
    return;
  tide_leftovers_find(job->outside, &job->objects, &now);
  for (size_t i = 0; i < now.n_ranges; i++)
    if (!is_reserved(&job->attachment, now.ranges[i].at))
      tide_attachment_reserve(&job->attachment, now.ranges[i]);
  tide_leftovers_done(&now);
}

static enum tide_patch_step step_undo(struct tide_job *job)
{
  enum tide_patch_step step = tide_attachment_undo(&job->attachment, is_at_work, job);
  if (step == TIDE_STEP_LATER && job->attachment.is_undone)
    release_loader(job);
  if (step)
    return step;
  take_what_came(job);
  clean_caves(job);
  return close_descriptors(job);
}

static enum tide_patch_step step_unmap(struct tide_job *job)
{
  return tide_attachment_unmap(&job->attachment);
}

static enum tide_patch_step step_memfd(struct tide_job *job)
{
  struct tide_attachment *a = &job->attachment;
  job->memfd.number = SYS_memfd_create;
  job->memfd.arguments[0] = (long)tide_agent_image_find(&job->agent, "tide_agent_store_name");
  job->memfd.arguments[1] = MFD_ALLOW_SEALING | MFD_CLOEXEC;
  enum tide_patch_step step = call_now(job, &job->memfd);
  if (step)
    return step;
  a->reason = "it may not make a memfd";
  return job->memfd.result < 0 ? TIDE_STEP_FAILED : TIDE_STEP_DONE;
}

// In a process with threads this waits until every processor has been elsewhere, for some ten
// milliseconds. Without us the recorder would have whoever allocates first wait for it. It can do
// without, so nobody asks what came of it.
static enum tide_patch_step step_barrier(struct tide_job *job)
{
  struct tide_remote_call call = {.number = SYS_membarrier,
                                  .arguments = {MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED}};
  return call_now(job, &call);
}

static void pause_ms(unsigned ms)
{
  nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

static bool has_ended(const struct tide_job *job)
{
  return tide_threads_have_ended((pid_t)job->options->pid);
}

static void note_time(uint64_t *longest, uint64_t ns)
{
  if (ns > *longest)
    *longest = ns;
}

static bool stop_threads(struct tide_tracer *t, enum tide_job_whom whom)
{
  return whom == TIDE_JOB_ALL   ? tide_tracer_stop_all(t)
         : whom == TIDE_JOB_ONE ? tide_tracer_stop_one(t)
                                : tide_tracer_stop_idle(t);
}

// From one stop to the next there is little to do. Beside hundreds of threads that want the same
// processors each would wait for its turn among them all. Where this is not permitted, it does.
static int set_niceness(int niceness)
{
  int before = getpriority(PRIO_PROCESS, 0);
  setpriority(PRIO_PROCESS, 0, niceness);
  return before;
}

static enum tide_patch_step step_stopped(struct tide_job *job, enum tide_job_whom whom,
                                         enum tide_patch_step (*step)(struct tide_job *))
{
  enum tide_patch_step done = TIDE_STEP_MORE;
  struct tide_tracer *t = &job->tracer;
  for (unsigned tries = 0; done == TIDE_STEP_MORE || (done == TIDE_STEP_LATER && tries < MAX_TRIES);
       tries += done == TIDE_STEP_LATER) {
    if (done == TIDE_STEP_LATER)
      pause_ms(tries < MAX_PAUSE_MS ? tries : MAX_PAUSE_MS);
    if (stop_threads(t, whom)) {
      // Not if it has become another program: what is stopped now stays as it is.
      done = tide_outside_lives(job->outside) ? step(job) : TIDE_STEP_REPLAN;
    } else {
      job->attachment.reason = t->hindered;
      done = t->sys_errno == EPERM || has_ended(job) ? TIDE_STEP_FAILED : TIDE_STEP_LATER;
    }
    if (done == TIDE_STEP_LATER && !tide_outside_lives(job->outside))
      done = TIDE_STEP_REPLAN;
    tide_tracer_go(t);
    note_time(whom == TIDE_JOB_ALL ? &job->all_stopped_ns : &job->one_stopped_ns, t->stopped_ns);
  }
  return done;
}

enum tide_patch_step tide_job_stopped(struct tide_job *job, enum tide_job_whom whom,
                                      enum tide_patch_step (*step)(struct tide_job *))
{
  int before = set_niceness(-20);
  enum tide_patch_step done = step_stopped(job, whom, step);
  set_niceness(before);
  return done;
}

// Nobody has looked at the store yet.
static bool begin_paused(const struct tide_job *job)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const struct tide_store_switches switches = {
      .paused_since_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, .n_pauses = 1};
  const uint32_t paused = 1;
  return pwrite(job->store_fd, &switches, sizeof switches,
                offsetof(struct tide_store_header, switches)) == (ssize_t)sizeof switches &&
         pwrite(job->store_fd, &paused, sizeof paused,
                offsetof(struct tide_store_header, paused)) == (ssize_t)sizeof paused;
}

static enum tide_err open_store(struct tide_job *job, struct tide_diag *diag)
{
  char name[64];
  int32_t fd = (int32_t)job->memfd.result;
  uint64_t at = job->attachment.mark.face + offsetof(struct tide_agent_face, store_fd);
  snprintf(name, sizeof name, "/proc/%u/fd/%ld", job->options->pid, job->memfd.result);
  job->store_fd = open(name, O_RDWR | O_CLOEXEC);
  if (job->store_fd < 0 || ftruncate(job->store_fd, (off_t)job->options->store_bytes) ||
      fcntl(job->store_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
    return tide_fail_errno(diag, "cannot make a store for process %u", job->options->pid);
  if (job->options->starts_paused && !begin_paused(job))
    return tide_fail_errno(diag, "cannot write to the store of process %u", job->options->pid);
  if (!tide_outside_write(job->outside, at, &fd, sizeof fd))
    return tide_fail_errno(diag, "cannot write to the memory of process %u", job->options->pid);
  return TIDE_ERR_OK;
}

// A descriptor that a program does not expect would change the numbers of its own, so that one that
// has not begun gets the store mapped. Where there is no room for that, the agent asks for less.
static enum tide_patch_step step_map_store(struct tide_job *job)
{
  struct tide_attachment *a = &job->attachment;
  uint64_t at = a->mark.face + offsetof(struct tide_agent_face, store_given);
  struct tide_remote_call *map = &job->map_store, *shut = &job->close_store;
  map->number = SYS_mmap;
  const long arguments[] = {0,
                            (long)job->options->store_bytes,
                            PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE,
                            job->memfd.result,
                            0};
  memcpy(map->arguments, arguments, sizeof arguments);
  shut->number = SYS_close;
  shut->arguments[0] = job->memfd.result;
  enum tide_patch_step step = map->done ? TIDE_STEP_DONE : call_now(job, map);
  if (!step && map->result > 0 && !shut->done)
    step = call_now(job, shut);
  if (step)
    return step;
  uint64_t given = map->result > 0 ? (uint64_t)map->result : 0;
  a->reason = "its memory cannot be written";
  return tide_outside_write(job->outside, at, &given, sizeof given) ? TIDE_STEP_DONE
                                                                    : TIDE_STEP_FAILED;
}

static enum tide_err not_attached(const struct tide_job *job, struct tide_diag *diag)
{
  uint32_t pid = job->options->pid;
  if (has_ended(job))
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "process %u has ended", pid);
  if (job->tracer.sys_errno == EPERM)
    return tide_permission_explain(pid, diag);
  return tide_fail(diag, TIDE_ERR_UNSUPPORTED, "cannot attach to process %u: %s", pid,
                   job->attachment.reason ? job->attachment.reason : "it changes all the time");
}

// Taking off.

// What the recorder has mapped for itself: its store, known by its name, and what it lists beside
// that which was mapped for it.
static void reserve_recorders_own(struct tide_job *job)
{
  static const char STORE[] = "/memfd:" TIDE_AGENT_STORE_NAME;
  const struct tide_outside *outside = job->outside;
  for (size_t i = 0; i < outside->n_mappings; i++) {
    const struct tide_mapping *m = &outside->mappings[i];
    if (!strncmp(m->path, STORE, sizeof STORE - 1))
      tide_attachment_reserve(&job->attachment,
                              (struct tide_reserved){m->lo, m->hi - m->lo, PROT_READ, true});
  }
  uint64_t at = 0, face = job->attachment.mark.face;
  TIDE_CLEANUP_FREE struct tide_range *own = tide_alloc_array(TIDE_SYS_MAX_RANGES, sizeof *own);
  if (!face ||
      !tide_outside_read(outside, face + offsetof(struct tide_agent_face, own_ranges), &at,
                         sizeof at) ||
      !at || !tide_outside_read(outside, at, own, TIDE_SYS_MAX_RANGES * sizeof *own))
    return;
  for (uint32_t i = 0; i < TIDE_SYS_MAX_RANGES; i++)
    if (own[i].bytes > 1 && !is_reserved(&job->attachment, own[i].start) &&
        tide_outside_is_anonymous(outside, own[i].start, own[i].bytes))
      tide_attachment_reserve(&job->attachment,
                              (struct tide_reserved){own[i].start, own[i].bytes, PROT_READ, true});
}

// DONE, too, where somebody else has done it before, or there is nothing left to do it to.
static enum tide_patch_step take_off(struct tide_job *job)
{
  enum tide_patch_step done = tide_job_stopped(job, TIDE_JOB_ALL, step_undo);
  if (!done && !look_again(job))
    done = TIDE_STEP_REPLAN;
  if (!done) {
    reserve_recorders_own(job);
    done = tide_job_stopped(job, TIDE_JOB_ONE, step_unmap);
  }
  return done == TIDE_STEP_REPLAN ? TIDE_STEP_DONE : done;
}

enum clearance { // whose is taken off
  OF_THE_DEAD,
  OF_ATTACHED, // that of another tidemark that is attached, too; a run lets go of no part of itself
  OF_ALL
};

static enum tide_err refuse_second(const struct tide_job *job, enum clearance whose,
                                   struct tide_diag *diag)
{
  bool is_run = false;
  uint32_t recorder = whose == OF_ALL ? 0 : tide_leftovers_recorder(job->outside, &is_run);
  if (!recorder || (whose == OF_ATTACHED && !is_run))
    return TIDE_ERR_OK;
  return tide_leftovers_refuse(job->options->pid, recorder, is_run, diag);
}

static void adopt(struct tide_job *job)
{
  const struct tide_leftovers *left = &job->left;
  struct tide_attachment *a = &job->attachment;
  *a = (struct tide_attachment){.plan = &left->plan, .tracer = &job->tracer, .mark = left->mark};
  for (size_t i = 0; i < left->n_ranges; i++)
    tide_attachment_reserve(a, left->ranges[i]);
  for (size_t i = 0; i < left->n_caves; i++) // not to be unmapped, but to be left by all
    tide_attachment_reserve(a, (struct tide_reserved){left->caves[i].at, TIDE_CAVE_BYTES,
                                                      PROT_READ | PROT_EXEC, false});
  a->caves = tide_attachment_find_caves(job->outside, &job->objects);
  if (!a->caves.n && left->n_caves) // which will be clean by then
    a->caves = (struct tide_caves){{left->caves[0].at}, 1};
}

static enum tide_err clear_one(struct tide_job *job, enum clearance whose, struct tide_diag *diag)
{
  enum tide_err err = refuse_second(job, whose, diag);
  const struct tide_agent_mark *mark = &job->left.mark;
  if (err)
    return err;
  if (mark->magic && mark->version != TIDE_AGENT_VERSION)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "another version of tidemark is attached to process %u, or was: detach it "
                     "with that one",
                     job->options->pid);
  adopt(job);
  if (!job->attachment.caves.n || take_off(job))
    return tide_fail(diag, TIDE_ERR_SYSTEM,
                     "what an earlier tidemark left in process %u cannot be taken away: %s",
                     job->options->pid,
                     job->attachment.reason ? job->attachment.reason : "no room for its code");
  return TIDE_ERR_OK;
}

// Takes off what tracers have put there.
static enum tide_err clear_leftovers(struct tide_job *job, enum clearance whose, bool *ret_found,
                                     struct tide_diag *diag)
{
  enum { MOST = 8 };
  *ret_found = false;
  for (int i = 0; i < MOST; i++) {
    enum tide_err err = look_at_process(job, diag);
    if (err || !tide_leftovers_find(job->outside, &job->objects, &job->left))
      return err;
    *ret_found = true;
    err = clear_one(job, whose, diag);
    tide_job_unplan(job);
    if (err)
      return err;
  }
  return TIDE_ERR_OK;
}

// One try with one plan.
static enum tide_patch_step try_plan(struct tide_job *job, enum tide_err *ret_err,
                                     struct tide_diag *diag)
{
  *ret_err = make_plan(job, diag);
  if (!*ret_err && job->plan.is_outdated && !job->is_lenient)
    return TIDE_STEP_REPLAN;
  if (!*ret_err)
    *ret_err = tide_sandbox_check(&job->tracer, diag);
  if (*ret_err)
    return TIDE_STEP_FAILED;
  enum tide_patch_step done = tide_job_stopped(job, TIDE_JOB_ONE, step_map);
  if (!done)
    done = tide_job_stopped(job, TIDE_JOB_ONE_IDLE, step_barrier);
  if (!done)
    done = tide_job_stopped(job, TIDE_JOB_ONE, step_memfd);
  if (!done && (*ret_err = open_store(job, diag)))
    return TIDE_STEP_FAILED;
  if (!done && job->options->held)
    done = tide_job_stopped(job, TIDE_JOB_ONE, step_map_store);
  if (!done)
    done = tide_job_stopped(job, TIDE_JOB_ALL, step_apply);
  if (done && done != TIDE_STEP_REPLAN)
    *ret_err = not_attached(job, diag);
  return done;
}

// A process that has just begun has yet to load its libraries.
static bool has_loaded_more(const struct tide_job *job)
{
  struct tide_outside *now;
  struct tide_diag ignored;
  bool has_allocator = tide_plan_sight(&job->plan) != TIDE_SIGHT_NOTHING || job->plan.n_refusals;
  if (has_allocator || tide_outside_open(job->options->pid, false, &now, &ignored))
    return false;
  bool has_changed = now->n_mappings != job->outside->n_mappings;
  tide_outside_close(now);
  return has_changed;
}

// Whatever failed says nothing of a process that ends or becomes another program, which takes it a
// moment.
static enum tide_patch_step judge_failure(const struct tide_job *job, enum tide_err *ret_err,
                                          struct tide_diag *diag)
{
  enum { MOMENT_MS = 20 };
  if (!job->outside || job->options->held)
    return TIDE_STEP_FAILED;
  pause_ms(MOMENT_MS);
  if (has_ended(job)) {
    *ret_err = not_attached(job, diag);
    return TIDE_STEP_FAILED;
  }
  if (tide_outside_lives(job->outside) && !has_loaded_more(job))
    return TIDE_STEP_FAILED;
  *ret_err = TIDE_ERR_OK;
  return TIDE_STEP_REPLAN;
}

// What was not put on wholly is taken off.
static enum tide_patch_step put_on(struct tide_job *job, enum tide_err *ret_err,
                                   struct tide_diag *diag)
{
  struct tide_diag ignored;
  bool found;
  enum tide_patch_step done = try_plan(job, ret_err, diag);
  if (done && done != TIDE_STEP_REPLAN)
    done = judge_failure(job, ret_err, diag);
  if (done && job->attachment.n_ranges && job->attachment.ranges[0].is_mapped) {
    tide_job_unplan(job);
    close_store(job);
    job->memfd = (struct tide_remote_call){0};
    clear_leftovers(job, OF_ALL, &found, &ignored);
  }
  return done;
}

static void summarize(const struct tide_job *job, struct tide_attached *ret)
{
  size_t n = 0;
  *ret = (struct tide_attached){.store_fd = job->store_fd,
                                .n_hooked = (uint32_t)job->plan.n_patches,
                                .n_refused = (uint32_t)job->plan.n_refusals,
                                .one_stopped_ns = job->one_stopped_ns,
                                .all_stopped_ns = job->all_stopped_ns,
                                .held_back = job->tracer.held_back};
  for (size_t i = 0; i < job->plan.n_patches; i++)
    ret->families |= 1u << job->plan.patches[i].entry.family;
  for (size_t i = 0; i < job->plan.n_refusals && n < sizeof ret->refused; i++)
    n += (size_t)snprintf(ret->refused + n, sizeof ret->refused - n, "%s%s: %s", n ? "; " : "",
                          job->plan.refusals[i].entry.name, job->plan.refusals[i].why);
  tide_plan_unhooked(&job->plan, ret->unhooked, sizeof ret->unhooked);
}

enum tide_err tide_job_attach(const struct tide_job_options *options, struct tide_job **ret_job,
                              struct tide_attached *ret_attached, struct tide_diag *diag)
{
  struct tide_job *job = tide_alloc(sizeof *job);
  enum tide_patch_step done = TIDE_STEP_REPLAN;
  bool found;
  *job = (struct tide_job){.options = options, .store_fd = -1};
  // What begins has nothing from before.
  enum tide_err err = options->held ? TIDE_ERR_OK : clear_leftovers(job, OF_THE_DEAD, &found, diag);
  for (int i = 0; !err && done == TIDE_STEP_REPLAN && i < MAX_PLANS; i++) {
    job->is_lenient = i >= MAX_STRICT_PLANS;
    done = put_on(job, &err, diag);
    if (done)
      tide_job_unplan(job);
  }
  if (done && !err)
    err = not_attached(job, diag);
  if (err) {
    job_free(job);
    return err;
  }
  summarize(job, ret_attached);
  *ret_job = job;
  return TIDE_ERR_OK;
}

// A process that ends has no memory a moment before it is seen to have ended.
static bool was_replaced(const struct tide_job *job)
{
  enum { MOMENT_MS = 20 };
  if (tide_outside_lives(job->outside))
    return false;
  pause_ms(MOMENT_MS);
  return !has_ended(job);
}

// Mostly since somebody else traces it by now.
static enum tide_err not_let_go(const struct tide_job *job, struct tide_diag *diag)
{
  uint32_t pid = job->options->pid;
  struct tide_diag why = {0};
  if (job->tracer.sys_errno == EPERM)
    tide_permission_explain(pid, &why);
  return tide_fail(diag, TIDE_ERR_SYSTEM,
                   "process %u is not let go: %s; then 'tidemark detach %u' takes off what is left",
                   pid, why.text[0] ? why.text : job->attachment.reason, pid);
}

enum tide_err tide_job_detach(struct tide_job *job, struct tide_attached *ret_attached,
                              struct tide_diag *diag)
{
  enum tide_err err = TIDE_ERR_OK;
  enum tide_patch_step done = TIDE_STEP_DONE;
  bool found;
  job->one_stopped_ns = job->all_stopped_ns = 0;
  bool is_another = was_replaced(job);
  if (job->was_added_to) { // the notes in the process say what there is
    tide_job_unplan(job);
    err = clear_leftovers(job, OF_ALL, &found, diag);
  } else {
    done = take_off(job);
  }
  summarize(job, ret_attached);
  ret_attached->was_replaced = is_another;
  for (size_t i = 0; i < job->attachment.n_ranges; i++)
    ret_attached->left_bytes +=
        job->attachment.ranges[i].is_mapped ? job->attachment.ranges[i].n_bytes : 0;
  if (done && !has_ended(job))
    err = not_let_go(job, diag);
  job_free(job);
  return err;
}

// The mark is the last to go.
bool tide_job_is_over(const struct tide_job *job)
{
  const struct tide_agent_mark *mark = &job->attachment.mark;
  uint64_t magic = 0;
  bool is_there =
      tide_outside_read(job->outside, mark->base, &magic, sizeof magic) && magic == TIDE_AGENT_MARK;
  return !is_there && (tide_outside_lives(job->outside) || was_replaced(job));
}

enum tide_err tide_job_clear(const struct tide_job_options *options, bool *ret_found,
                             struct tide_diag *diag)
{
  struct tide_job *job = tide_alloc(sizeof *job);
  *job = (struct tide_job){.options = options, .store_fd = -1};
  enum tide_err err = clear_leftovers(job, OF_ATTACHED, ret_found, diag);
  job_free(job);
  return err;
}
