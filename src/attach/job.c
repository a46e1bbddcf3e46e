// SPDX-License-Identifier: Apache-2.0
//
// One attach: looking at the process and planning while it runs, the steps with it stopped, again
// and again while one says "later", and the way back.
#define _GNU_SOURCE
#include "attach/job.h"

#include "attach/leftovers.h"
#include "attach/patch.h"
#include "attach/permission.h"
#include "base/alloc.h"
#include "rt/sys.h"
#include "store/layout.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_TRIES = 400, MAX_PLANS = 10, MAX_PAUSE_MS = 64 };

struct tide_job {
  const struct tide_job_options *options;
  struct tide_outside *outside;
  struct tide_loaded_list objects;
  struct tide_hookables entries;
  struct tide_plan plan;
  struct tide_agent_image agent;
  struct tide_tracer tracer;
  struct tide_attachment attachment;
  struct tide_remote_call memfd;
  int store_fd;
  uint64_t one_stopped_ns, all_stopped_ns;
};

static void unplan(struct tide_job *job)
{
  tide_attachment_done(&job->attachment);
  tide_tracer_done(&job->tracer);
  tide_agent_image_done(&job->agent);
  tide_plan_done(&job->plan);
  tide_hookables_done(&job->entries);
  tide_loaded_list_done(&job->objects);
  tide_outside_close(job->outside);
  job->outside = NULL;
}

static void job_free(struct tide_job *job)
{
  unplan(job);
  if (job->store_fd >= 0)
    close(job->store_fd);
  free(job);
}

static enum tide_err no_allocator(const struct tide_job *job, struct tide_diag *diag)
{
  const struct tide_plan *plan = &job->plan;
  if (plan->n_refusals)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED, "%s of process %u cannot be hooked: %s",
                     plan->refusals[0].entry.name, job->options->pid, plan->refusals[0].why);
  return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                   "process %u has no allocator that is known by its symbols", job->options->pid);
}

// Everything that can be done while the process runs.
static enum tide_err look(struct tide_job *job, struct tide_diag *diag)
{
  const struct tide_job_options *o = job->options;
  enum tide_err err = tide_outside_open(o->pid, true, &job->outside, diag);
  if (!err)
    err = tide_agent_image_read(o->agent, &job->agent, diag);
  if (err)
    return err;
  tide_loaded_list_make(job->outside, o->debug_dirs, &job->objects);
  tide_hookables_find(&job->objects, &job->entries);
  tide_tracer_init(&job->tracer, job->outside);
  return TIDE_ERR_OK;
}

static enum tide_err make_plan(struct tide_job *job, struct tide_diag *diag)
{
  const char *why;
  enum tide_err err = look(job, diag);
  if (err)
    return err;
  tide_plan_make(job->outside, &job->entries, &job->plan);
  if (!job->plan.n_patches)
    return no_allocator(job, diag);
  if (!tide_attachment_init(&job->attachment, &job->plan, &job->agent, &job->tracer, &job->objects,
                            &why))
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED, "cannot attach to process %u: %s",
                     job->options->pid, why);
  return TIDE_ERR_OK;
}

// The face.

static struct tide_agent_face *face_of(struct tide_job *job)
{
  uint64_t at = tide_agent_image_find(&job->agent, "tide_agent_face");
  return at ? (void *)(job->agent.bytes + (at - job->agent.base)) : NULL;
}

static void read_auxv(uint32_t pid, struct tide_agent_face *face)
{
  char name[64];
  uint64_t pair[2];
  snprintf(name, sizeof name, "/proc/%u/auxv", pid);
  FILE *f = fopen(name, "re");
  while (f && fread(pair, sizeof pair, 1, f) == 1) {
    if (pair[0] == AT_PAGESZ)
      face->page_bytes = pair[1];
    else if (pair[0] == AT_SYSINFO_EHDR)
      face->vdso = pair[1];
  }
  if (f)
    fclose(f);
}

// A field of /proc/PID/stat by its number in proc(5), from the third on; 0: not known.
static uint64_t stat_field(uint32_t pid, int number)
{
  char name[64], line[1024];
  snprintf(name, sizeof name, "/proc/%u/stat", pid);
  FILE *f = fopen(name, "re");
  char *p = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
  for (int i = 2; p && i < number; i++)
    p = strchr(p + 1, ' ');
  if (f)
    fclose(f);
  return p ? strtoull(p, NULL, 10) : 0;
}

static uint32_t read_command(uint32_t pid, char *to, size_t size)
{
  char name[64];
  snprintf(name, sizeof name, "/proc/%u/cmdline", pid);
  int fd = open(name, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, to, size);
  if (fd >= 0)
    close(fd);
  while (n > 0 && to[n - 1]) // a last argument that is cut
    n--;
  return n > 0 ? (uint32_t)n : 0;
}

static bool fill_face(struct tide_job *job)
{
  struct tide_agent_face *face = face_of(job);
  char name[64];
  const struct tide_plan *plan = &job->plan;
  if (!face || plan->n_patches > TIDE_AGENT_HOOKS)
    return false;
  *face = (struct tide_agent_face){.magic = TIDE_AGENT_MAGIC,
                                   .version = TIDE_AGENT_VERSION,
                                   .n_hooks = (uint32_t)plan->n_patches,
                                   .store_fd = -1,
                                   .store_bytes = job->options->store_bytes,
                                   .depth_limit = job->options->depth_limit,
                                   .page_bytes = 4096};
  read_auxv(job->options->pid, face);
  face->stack_origin = stat_field(job->options->pid, 28);
  face->tracer_pid = (uint32_t)getpid();
  face->tracer_born = (uint32_t)stat_field(face->tracer_pid, 22);
  const struct tide_mapping *stack = tide_outside_find(job->outside, face->stack_origin);
  face->stack_top = stack ? stack->hi : 0;
  snprintf(name, sizeof name, "/proc/%u/exe", job->options->pid);
  if (readlink(name, face->program, sizeof face->program - 1) < 0)
    face->program[0] = 0;
  face->command_bytes = read_command(job->options->pid, face->command, sizeof face->command);
  snprintf(face->allocator, sizeof face->allocator, "%s", plan->patches[0].entry.loaded->path);
  for (size_t i = 0; i < plan->n_patches; i++)
    face->hooks[i] = (struct tide_agent_hook){
        .real = plan->patches[i].island + TIDE_ISLAND_CODE_AT,
        .role = plan->patches[i].entry.role,
        .family = plan->patches[i].entry.family,
    };
  return true;
}

// Steps.

static enum tide_patch_step step_map(struct tide_job *job)
{
  return tide_attachment_map(&job->attachment);
}

static enum tide_patch_step step_apply(struct tide_job *job)
{
  return tide_attachment_apply(&job->attachment);
}

static bool is_at_work(void *context)
{
  struct tide_job *job = context;
  enum { BATCH = 1024 };
  static struct {
    struct tide_agent_place place;
    uint8_t rest[TIDE_AGENT_SEAT_BYTES - sizeof(struct tide_agent_place)];
  } seats[BATCH];
  uint64_t at = tide_agent_image_find(&job->agent, "tide_agent_seats");
  for (size_t n = 0; n < TIDE_AGENT_SEATS; n += BATCH) {
    if (!tide_outside_read(job->outside, at + n * sizeof *seats, seats, sizeof seats))
      return true;
    for (size_t i = 0; i < BATCH; i++)
      if (seats[i].place.inside)
        return true;
  }
  return false;
}

static enum tide_patch_step step_undo(struct tide_job *job)
{
  return tide_attachment_undo(&job->attachment, is_at_work, job);
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
  if (!tide_tracer_call(a->tracer, a->cave, &job->memfd, 1)) {
    a->reason = a->tracer->hindered;
    return TIDE_STEP_LATER;
  }
  a->reason = "it may not make a memfd";
  return job->memfd.result < 0 ? TIDE_STEP_FAILED : TIDE_STEP_DONE;
}

static void pause_ms(unsigned ms)
{
  nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

static bool has_ended(const struct tide_job *job)
{
  return kill((pid_t)job->options->pid, 0) && errno == ESRCH;
}

static void note_time(uint64_t *longest, uint64_t ns)
{
  if (ns > *longest)
    *longest = ns;
}

// Has a step made with all threads stopped, or with one, again while it says "later".
static enum tide_patch_step stopped(struct tide_job *job, bool all,
                                    enum tide_patch_step (*step)(struct tide_job *))
{
  enum tide_patch_step done = TIDE_STEP_LATER;
  struct tide_tracer *t = &job->tracer;
  for (unsigned i = 0; done == TIDE_STEP_LATER && i < MAX_TRIES; i++) {
    if (i)
      pause_ms(i < MAX_PAUSE_MS ? i : MAX_PAUSE_MS);
    if (all ? tide_tracer_stop_all(t) : tide_tracer_stop_one(t)) {
      done = step(job);
    } else {
      job->attachment.reason = t->hindered;
      if (t->sys_errno == EPERM || has_ended(job))
        done = TIDE_STEP_FAILED;
    }
    tide_tracer_go(t);
    note_time(all ? &job->all_stopped_ns : &job->one_stopped_ns, t->stopped_ns);
  }
  return done;
}

static enum tide_err open_store(struct tide_job *job, struct tide_diag *diag)
{
  char name[64];
  struct tide_agent_face *face = face_of(job);
  uint64_t at = tide_agent_image_find(&job->agent, "tide_agent_face");
  snprintf(name, sizeof name, "/proc/%u/fd/%ld", job->options->pid, job->memfd.result);
  job->store_fd = open(name, O_RDWR | O_CLOEXEC);
  if (job->store_fd < 0 || ftruncate(job->store_fd, (off_t)job->options->store_bytes) ||
      fcntl(job->store_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
    return tide_fail_errno(diag, "cannot make a store for process %u", job->options->pid);
  face->store_fd = (int32_t)job->memfd.result;
  if (!tide_outside_write(job->outside, at, face, sizeof *face))
    return tide_fail_errno(diag, "cannot write to the memory of process %u", job->options->pid);
  return TIDE_ERR_OK;
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

// What the recorder has mapped for itself: listed in its store, as far as that can be believed.
static void reserve_recorders_own(struct tide_job *job)
{
  struct tide_store_header header;
  uint64_t face = tide_agent_image_find(&job->agent, "tide_agent_face"), at = 0;
  if (!tide_outside_read(job->outside, face + offsetof(struct tide_agent_face, store_at), &at,
                         sizeof at) ||
      !at || !tide_outside_read(job->outside, at, &header, sizeof header))
    return;
  uint32_t n = header.n_ranges < TIDE_SYS_MAX_RANGES ? header.n_ranges : TIDE_SYS_MAX_RANGES;
  for (uint32_t i = 0; i < n; i++) {
    struct tide_range range;
    if (tide_outside_read(job->outside, at + header.areas.ranges.offset + i * sizeof range, &range,
                          sizeof range) &&
        range.bytes)
      tide_attachment_reserve(&job->attachment, range.start, range.bytes);
  }
}

// DONE, too, where somebody else has done it before.
static enum tide_patch_step take_off(struct tide_job *job)
{
  enum tide_patch_step done = stopped(job, true, step_undo);
  if (done == TIDE_STEP_REPLAN)
    return TIDE_STEP_DONE;
  if (done)
    return done;
  struct tide_outside *now; // the store is younger than the plan
  struct tide_diag diag;
  if (!tide_outside_open(job->options->pid, true, &now, &diag)) {
    tide_outside_close(job->outside);
    job->outside = now;
    job->tracer.outside = now;
    reserve_recorders_own(job);
  }
  return stopped(job, false, step_unmap);
}

// Is the tracer that put it there still alive? Then it is at work.
static enum tide_err refuse_second(const struct tide_job *job, struct tide_diag *diag)
{
  struct tide_agent_face face;
  uint64_t at = tide_agent_image_find(&job->agent, "tide_agent_face");
  if (!tide_outside_read(job->outside, at, &face, sizeof face) || !face.tracer_pid ||
      (uint32_t)stat_field(face.tracer_pid, 22) != face.tracer_born)
    return TIDE_ERR_OK;
  return tide_fail(diag, TIDE_ERR_EXISTS,
                   "process %u is being recorded already, by process %u: end that one, or "
                   "'tidemark detach %u'",
                   job->options->pid, face.tracer_pid, job->options->pid);
}

// Takes off what another tracer has put there. by_force: even if it is alive.
static enum tide_err clear_leftovers(struct tide_job *job, bool by_force, bool *ret_found,
                                     struct tide_diag *diag)
{
  enum tide_err err = look(job, diag);
  *ret_found = !err && tide_leftovers_find(job->outside, &job->entries, &job->agent, &job->plan);
  if (*ret_found && !by_force)
    err = refuse_second(job, diag);
  if (*ret_found && !err) {
    bool has_room = tide_attachment_adopt(&job->attachment, &job->plan, &job->agent, &job->tracer,
                                          &job->objects);
    if (!has_room || take_off(job))
      err = tide_fail(diag, TIDE_ERR_SYSTEM,
                      "what an earlier tidemark left in process %u cannot be taken away: %s",
                      job->options->pid, job->attachment.reason);
  }
  unplan(job);
  return err;
}

// One try with one plan.
static enum tide_patch_step put_on(struct tide_job *job, enum tide_err *ret_err,
                                   struct tide_diag *diag)
{
  *ret_err = make_plan(job, diag);
  if (!*ret_err && !fill_face(job))
    *ret_err = tide_fail(diag, TIDE_ERR_FORMAT, "%s is not an agent of this tidemark",
                         job->options->agent);
  if (*ret_err)
    return TIDE_STEP_FAILED;
  enum tide_patch_step done = stopped(job, false, step_map);
  if (!done)
    done = stopped(job, false, step_memfd);
  if (!done && (*ret_err = open_store(job, diag)))
    return TIDE_STEP_FAILED;
  if (!done)
    done = stopped(job, true, step_apply);
  if (done && done != TIDE_STEP_REPLAN)
    *ret_err = not_attached(job, diag);
  return done;
}

static void summarize(const struct tide_job *job, struct tide_attached *ret)
{
  size_t n = 0;
  *ret = (struct tide_attached){.store_fd = job->store_fd,
                                .n_hooked = (uint32_t)job->plan.n_patches,
                                .n_refused = (uint32_t)job->plan.n_refusals,
                                .one_stopped_ns = job->one_stopped_ns,
                                .all_stopped_ns = job->all_stopped_ns};
  for (size_t i = 0; i < job->plan.n_patches; i++)
    ret->families |= 1u << job->plan.patches[i].entry.family;
  for (size_t i = 0; i < job->plan.n_refusals && n < sizeof ret->refused; i++)
    n += (size_t)snprintf(ret->refused + n, sizeof ret->refused - n, "%s%s: %s", n ? "; " : "",
                          job->plan.refusals[i].entry.name, job->plan.refusals[i].why);
}

enum tide_err tide_job_attach(const struct tide_job_options *options, struct tide_job **ret_job,
                              struct tide_attached *ret_attached, struct tide_diag *diag)
{
  struct tide_job *job = tide_alloc(sizeof *job);
  enum tide_patch_step done = TIDE_STEP_REPLAN;
  bool found;
  *job = (struct tide_job){.options = options, .store_fd = -1};
  enum tide_err err = clear_leftovers(job, false, &found, diag);
  for (int i = 0; !err && done == TIDE_STEP_REPLAN && i < MAX_PLANS; i++) {
    if (i)
      unplan(job);
    done = put_on(job, &err, diag);
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

enum tide_err tide_job_detach(struct tide_job *job, struct tide_attached *ret_attached,
                              struct tide_diag *diag)
{
  enum tide_err err = TIDE_ERR_OK;
  job->one_stopped_ns = job->all_stopped_ns = 0;
  enum tide_patch_step done = take_off(job);
  summarize(job, ret_attached);
  for (size_t i = 0; i < job->attachment.n_ranges; i++)
    ret_attached->left_bytes +=
        job->attachment.ranges[i].is_mapped ? job->attachment.ranges[i].n_bytes : 0;
  if (done && !has_ended(job))
    err = tide_fail(diag, TIDE_ERR_SYSTEM, "process %u is not let go as it should be: %s",
                    job->options->pid, job->attachment.reason);
  job_free(job);
  return err;
}

enum tide_err tide_job_clear(const struct tide_job_options *options, bool *ret_found,
                             struct tide_diag *diag)
{
  struct tide_job *job = tide_alloc(sizeof *job);
  *job = (struct tide_job){.options = options, .store_fd = -1};
  enum tide_err err = clear_leftovers(job, true, ret_found, diag);
  job_free(job);
  return err;
}
