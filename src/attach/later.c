// SPDX-License-Identifier: Apache-2.0
//
// Allocators in libraries that are loaded later. What is there already is known by the notes in the
// process (leftovers.h) and by the agent's face, so that any tracer can add to it, and to a fork
// child's, too. The same order as at an attach: room and islands, then the face, then the jumps.
//
// The room of a library that is gone is used again: its islands lead nowhere, and nobody is in
// them.
#define _GNU_SOURCE
#include "attach/job.h"
#include "attach/job_inside.h"
#include "attach/sandbox.h"
#include "base/alloc.h"
#include "store/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_TRIES = 3 };

struct later {
  struct tide_job job; // of this addition alone
  struct tide_agent_face *face;
  uint32_t changed; // what will be answered
  const char *why;  // nothing was added
};

// ---- what is there ----

static bool read_face(struct later *l)
{
  const struct tide_agent_mark *mark = &l->job.left.mark;
  return mark->magic && mark->version == TIDE_AGENT_VERSION &&
         tide_outside_read(l->job.outside, mark->face, l->face, sizeof *l->face) &&
         l->face->magic == TIDE_AGENT_MAGIC && l->face->version == TIDE_AGENT_VERSION;
}

static bool write_face(const struct later *l, size_t offset, size_t n)
{
  return tide_outside_write(l->job.outside, l->job.left.mark.face + offset,
                            (const char *)l->face + offset, n);
}
#define WRITE_FACE(l, field)                                                                       \
  write_face(l, offsetof(struct tide_agent_face, field), sizeof((l)->face->field))

static bool read_changed(struct later *l)
{
  uint64_t at = l->face->store_at;
  return at &&
         tide_outside_read(l->job.outside, at + offsetof(struct tide_store_header, objects_changed),
                           &l->changed, sizeof l->changed);
}

static bool is_alive(const struct tide_patch *p)
{
  return p->n || p->hole;
}

// Was the object loaded anew where it was before, without our jumps?
static bool has_dead_patch(const struct later *l, const struct tide_mapping *m)
{
  const struct tide_plan *there = &l->job.left.plan;
  for (size_t i = 0; i < there->n_patches; i++)
    if (!is_alive(&there->patches[i]) && there->patches[i].at - m->lo < m->hi - m->lo)
      return true;
  return false;
}

static bool is_new(void *context, const struct tide_mapping *m)
{
  const struct later *l = context;
  uint64_t number = tide_face_object(m);
  for (size_t i = 0; i < TIDE_AGENT_OBJECTS; i++)
    if (l->face->objects[i] == number)
      return has_dead_patch(l, m);
  return true;
}

static void list_objects(struct later *l)
{
  const struct tide_outside *outside = l->job.outside;
  size_t n = 0;
  memset(l->face->objects, 0, sizeof l->face->objects);
  for (size_t i = 0; i < outside->n_mappings && n < TIDE_AGENT_OBJECTS; i++)
    if (outside->mappings[i].executable && outside->mappings[i].path[0] == '/')
      l->face->objects[n++] = tide_face_object(&outside->mappings[i]);
}

// ---- room ----

static bool is_in_use(const struct later *l, uint64_t at, uint64_t n)
{
  const struct tide_plan *there = &l->job.left.plan;
  for (size_t i = 0; i < there->n_patches; i++)
    if (is_alive(&there->patches[i]) && there->patches[i].island - at < n)
      return true;
  return false;
}

// Regions of islands that nothing leads to.
static void reuse_regions(struct later *l)
{
  struct tide_plan *plan = &l->job.plan;
  const struct tide_leftovers *left = &l->job.left;
  for (size_t i = 1; i < left->n_ranges; i++) {
    const struct tide_reserved *r = &left->ranges[i];
    if (!(r->protection & PROT_EXEC) || is_in_use(l, r->at, r->n_bytes))
      continue;
    TIDE_GROW(plan->regions, plan->n_regions, plan->regions_cap);
    plan->regions[plan->n_regions++] = (struct tide_island_region){r->at, r->n_bytes, 0};
  }
}

// Numbers of hooks that no island has.
static bool give_numbers(struct later *l)
{
  struct tide_plan *plan = &l->job.plan;
  struct tide_agent_face *face = l->face;
  uint32_t next = 0;
  for (size_t i = 0; i < plan->n_patches; i++, next++) {
    while (next < face->n_hooks &&
           is_in_use(l, face->hooks[next].real - TIDE_ISLAND_REAL_AT, TIDE_ISLAND_BYTES))
      next++;
    if (next >= TIDE_AGENT_HOOKS)
      return false;
    plan->patches[i].index = next;
  }
  face->n_hooks = next > face->n_hooks ? next : face->n_hooks;
  return true;
}

static bool reserve_regions(struct later *l, size_t n_old)
{
  const struct tide_plan *plan = &l->job.plan;
  struct tide_agent_face *face = l->face;
  for (size_t i = n_old; i < plan->n_regions; i++) {
    const struct tide_island_region *r = &plan->regions[i];
    if (face->n_ranges >= TIDE_AGENT_RANGES)
      return false;
    face->ranges[face->n_ranges++] = (struct tide_range){r->at, r->n_bytes};
    tide_attachment_reserve(
        &l->job.attachment,
        (struct tide_reserved){r->at, r->n_bytes, PROT_READ | PROT_EXEC, false});
  }
  return true;
}

// Then what is_later (store/agent_face.h) asks for is asked of each block, in the general way
// alone.
static bool counts_on_apart(const struct later *l)
{
  return l->face->blocks_are_apart && l->face->apart_at;
}

// A library may only ask (tidemark.h).
static bool brings_allocator(const struct later *l)
{
  for (size_t i = 0; i < l->job.plan.n_patches; i++)
    if (l->job.plan.patches[i].entry.role < TIDE_ROLE_MAP)
      return true;
  return false;
}

static void fill_hooks(struct later *l)
{
  const struct tide_plan *plan = &l->job.plan;
  struct tide_agent_face *face = l->face;
  bool counts_on_it = counts_on_apart(l);
  if (!counts_on_it && brings_allocator(l))
    face->blocks_are_apart = 0;
  for (size_t i = 0; i < plan->n_patches; i++) {
    uint32_t k = plan->patches[i].index;
    face->hooks[k] = tide_face_hook(plan, &plan->patches[i], face->program);
    face->hooks[k].is_later = counts_on_it;
  }
}

// ---- adding ----

static enum tide_patch_step step_map(struct tide_job *job)
{
  return tide_attachment_map(&job->attachment);
}

static enum tide_patch_step step_apply(struct tide_job *job)
{
  return tide_attachment_apply(&job->attachment);
}

// What another tracer must find comes before it is there; what the agent goes by, before the jumps.
static enum tide_patch_step put_on(struct later *l)
{
  const uint8_t no = 0;
  struct tide_job *job = &l->job;
  l->why = "its memory cannot be written";
  if (!WRITE_FACE(l, ranges) || !WRITE_FACE(l, n_ranges))
    return TIDE_STEP_FAILED;
  enum tide_patch_step done = tide_job_stopped(job, TIDE_JOB_ONE, step_map);
  fill_hooks(l);
  if (!done &&
      (!WRITE_FACE(l, hooks) || !WRITE_FACE(l, n_hooks) || !WRITE_FACE(l, blocks_are_apart) ||
       (l->face->apart_at && brings_allocator(l) &&
        !tide_outside_write(job->outside, l->face->apart_at, &no, 1))))
    return TIDE_STEP_FAILED;
  if (!done)
    done = tide_job_stopped(job, TIDE_JOB_ALL, step_apply);
  if (done)
    l->why = job->attachment.reason ? job->attachment.reason : "it changes all the time";
  return done;
}

static enum tide_patch_step add_new(struct later *l)
{
  struct tide_job *job = &l->job;
  struct tide_diag diag;
  reuse_regions(l);
  size_t n_old = job->plan.n_regions;
  tide_plan_add(job->outside, &job->entries, &job->plan);
  if (!job->plan.n_patches)
    return TIDE_STEP_DONE;
  job->attachment =
      (struct tide_attachment){.plan = &job->plan,
                               .tracer = &job->tracer,
                               .mark = job->left.mark,
                               .caves = tide_attachment_find_caves(job->outside, &job->objects),
                               .hook = l->face->enter,
                               .hook_new = l->face->enter_new,
                               .quick = l->face->quick};
  if (counts_on_apart(l))
    job->attachment.quick = (struct tide_agent_quick){.ask = l->face->quick.ask};
  l->why = "no room is left for more hooks";
  if (!give_numbers(l) || !reserve_regions(l, n_old))
    return TIDE_STEP_FAILED;
  l->why = "no object has room behind its code for the few bytes that map memory";
  if (!job->attachment.caves.n)
    return TIDE_STEP_FAILED;
  l->why = "its seccomp filter does not permit what recording needs";
  if (tide_sandbox_check(&job->tracer, &diag))
    return TIDE_STEP_FAILED;
  return put_on(l);
}

// ---- what is said ----

static const char *file_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// The first that could not be hooked; false: there is none.
static bool find_missed(const struct later *l, enum tide_patch_step done, char *to, size_t size)
{
  const struct tide_plan *plan = &l->job.plan;
  const struct tide_hookables *entries = &l->job.entries;
  const struct tide_loaded_list *objects = &l->job.objects;
  for (size_t i = 0; i < plan->n_refusals; i++)
    if (plan->refusals[i].entry.role < TIDE_ROLE_MAP) {
      const struct tide_hookable *entry = &plan->refusals[i].entry;
      snprintf(to, size, "%s (%s: %s)", file_name(entry->loaded->path), entry->name,
               plan->refusals[i].why);
      return true;
    }
  for (size_t i = 0; done && i < entries->n; i++)
    if (entries->all[i].role < TIDE_ROLE_MAP) {
      snprintf(to, size, "%s (%s)", file_name(entries->all[i].loaded->path), l->why);
      return true;
    }
  if (objects->n_unread)
    snprintf(to, size, "%s (%s)", file_name(objects->unread[0].path), objects->unread[0].reason);
  return objects->n_unread;
}

static void answer(const struct later *l, enum tide_patch_step done)
{
  struct tide_store_header header = {0};
  const struct tide_outside *outside = l->job.outside;
  uint64_t at = l->face->store_at;
  uint64_t missed_at = at + offsetof(struct tide_store_header, objects_missed);
  char before = 0;
  if (find_missed(l, done, header.objects_missed, sizeof header.objects_missed) &&
      tide_outside_read(outside, missed_at, &before, 1) && !before)
    tide_outside_write(outside, missed_at, header.objects_missed, sizeof header.objects_missed);
  tide_outside_write(outside, at + offsetof(struct tide_store_header, objects_answered),
                     &l->changed, sizeof l->changed);
}

// ---- one look ----

// REPLAN: it has changed meanwhile.
static enum tide_patch_step look(struct later *l)
{
  struct tide_job *job = &l->job;
  const struct tide_job_options *o = job->options;
  struct tide_diag diag;
  if (tide_outside_open(o->pid, true, &job->outside, &diag))
    return TIDE_STEP_FAILED;
  tide_tracer_init(&job->tracer, job->outside);
  tide_leftovers_find(job->outside, &(struct tide_loaded_list){0}, &job->left);
  if (!read_face(l) || !read_changed(l))
    return TIDE_STEP_FAILED;
  tide_loaded_list_make_of(job->outside, o->debug_dirs, is_new, l, &job->objects);
  tide_hookables_find(&job->objects, &job->entries);
  tide_hookables_find_doors(&job->objects, &job->entries);
  enum tide_patch_step done = job->entries.n ? add_new(l) : TIDE_STEP_DONE;
  if (done == TIDE_STEP_REPLAN)
    return done;
  list_objects(l);
  WRITE_FACE(l, objects);
  answer(l, done);
  return done;
}

void tide_job_look_again(const struct tide_job_options *options, struct tide_job *job)
{
  enum tide_patch_step done = TIDE_STEP_REPLAN;
  struct later l = {.face = tide_alloc(sizeof *l.face)};
  for (int i = 0; i < MAX_TRIES && done == TIDE_STEP_REPLAN; i++) {
    l.job = (struct tide_job){.options = options, .store_fd = -1};
    done = look(&l);
    if (job)
      job->was_added_to |= l.job.plan.n_patches > 0;
    tide_job_unplan(&l.job);
  }
  free(l.face);
}
