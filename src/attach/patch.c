// SPDX-License-Identifier: Apache-2.0
//
// What is written into the process, and in which order: nothing leads to what is not there yet.
#define _GNU_SOURCE
#include "attach/patch.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE_BYTES UINT64_C(4096)

static enum tide_patch_step later(struct tide_attachment *a, const char *reason)
{
  a->reason = reason;
  return TIDE_STEP_LATER;
}

static enum tide_patch_step failed(struct tide_attachment *a, const char *reason)
{
  a->reason = reason;
  return TIDE_STEP_FAILED;
}

// Code of a thread that is borrowed for system calls lies in the rest of the page behind some
// object's code, where there is nothing.
static uint64_t find_cave(const struct tide_loaded_list *objects)
{
  for (size_t i = 0; i < objects->n; i++) {
    uint64_t end = (objects->all[i].code_hi + 15) & ~UINT64_C(15), room = -end & (PAGE_BYTES - 1);
    if (room >= TIDE_CAVE_BYTES)
      return end;
  }
  return 0;
}

static void list_ranges(struct tide_attachment *a, bool are_mapped)
{
  const struct tide_plan *plan = a->plan;
  const struct tide_agent_image *agent = a->agent;
  size_t n = 0;
  a->n_ranges = plan->n_regions + 2;
  a->ranges = tide_alloc_array(a->n_ranges, sizeof *a->ranges);
  for (; n < plan->n_regions; n++)
    a->ranges[n] =
        (struct tide_reserved){plan->regions[n].at, plan->regions[n].n_bytes, are_mapped};
  a->ranges[n++] = (struct tide_reserved){agent->base, agent->code_bytes, are_mapped};
  a->ranges[n] = (struct tide_reserved){agent->base + agent->code_bytes,
                                        agent->n_bytes - agent->code_bytes, are_mapped};
}

bool tide_attachment_adopt(struct tide_attachment *a, const struct tide_plan *plan,
                           struct tide_agent_image *agent, struct tide_tracer *tracer,
                           const struct tide_loaded_list *objects)
{
  *a = (struct tide_attachment){.plan = plan, .agent = agent, .tracer = tracer};
  list_ranges(a, true);
  return (a->cave = find_cave(objects));
}

bool tide_attachment_init(struct tide_attachment *a, const struct tide_plan *plan,
                          struct tide_agent_image *agent, struct tide_tracer *tracer,
                          const struct tide_loaded_list *objects, const char **ret_why)
{
  struct tide_diag diag;
  *a = (struct tide_attachment){.plan = plan, .agent = agent, .tracer = tracer};
  *ret_why = "no object has room behind its code for the few bytes that map the agent";
  if (!(a->cave = find_cave(objects)))
    return false;
  *ret_why = "there is no free range of addresses for the agent";
  uint64_t near = plan->n_regions ? plan->regions[0].at : a->cave;
  uint64_t base =
      tide_outside_gap(tracer->outside, near + (UINT64_C(8) << 20), agent->n_bytes, UINT64_MAX);
  if (!base)
    return false;
  *ret_why = "the agent's file is damaged";
  if (tide_agent_image_place(agent, base, &diag))
    return false;
  *ret_why = "the agent's file has no entry";
  if (!(a->hook = tide_agent_image_find(agent, "tide_agent_enter")))
    return false;
  list_ranges(a, false);
  return true;
}

void tide_attachment_done(struct tide_attachment *a)
{
  free(a->ranges);
  *a = (struct tide_attachment){0};
}

void tide_attachment_reserve(struct tide_attachment *a, uint64_t at, uint64_t n_bytes)
{
  a->ranges = tide_realloc_array(a->ranges, a->n_ranges + 1, sizeof *a->ranges);
  a->ranges[a->n_ranges++] = (struct tide_reserved){at, n_bytes, true};
}

// Makes calls for those ranges that need one, a few at a time. Each call says where its range is.
static enum tide_patch_step call_for_ranges(struct tide_attachment *a, bool map)
{
  for (size_t i = 0; i < a->n_ranges;) {
    struct tide_remote_call calls[TIDE_CALLS_AT_ONCE] = {0};
    struct tide_reserved *of[TIDE_CALLS_AT_ONCE];
    size_t n = 0;
    for (; i < a->n_ranges && n < TIDE_CALLS_AT_ONCE; i++) {
      struct tide_reserved *r = &a->ranges[i];
      if (r->is_mapped == map)
        continue;
      int protection = i <= a->plan->n_regions ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE;
      of[n] = r;
      calls[n++] =
          map ? (struct tide_remote_call){.number = SYS_mmap,
                                          .arguments = {(long)r->at, (long)r->n_bytes, protection,
                                                        MAP_PRIVATE | MAP_ANONYMOUS |
                                                            MAP_FIXED_NOREPLACE,
                                                        -1, 0}}
              : (struct tide_remote_call){.number = SYS_munmap,
                                          .arguments = {(long)r->at, (long)r->n_bytes}};
    }
    bool all = !n || tide_tracer_call(a->tracer, a->cave, calls, n);
    for (size_t k = 0; k < n; k++) {
      long wanted = map ? calls[k].arguments[0] : 0;
      if (calls[k].done && calls[k].result == wanted)
        of[k]->is_mapped = map;
      else if (calls[k].done)
        return calls[k].result == -EEXIST ? TIDE_STEP_REPLAN
                                          : failed(a, "the process may not map memory for it");
    }
    if (!all)
      return later(a, a->tracer->hindered);
  }
  return TIDE_STEP_DONE;
}

static void fill_island(const struct tide_attachment *a, const struct tide_patch *p, size_t index,
                        uint8_t island[TIDE_ISLAND_BYTES])
{
  const struct tide_displacer *d = tide_displacer();
  struct tide_island_note note = {TIDE_ISLAND_MAGIC, p->at, p->hole, (uint8_t)p->n, {0}, {0}};
  memset(island, 0, TIDE_ISLAND_BYTES);
  memcpy(island, p->displaced.undo, p->displaced.n_undo);
  d->enter(island + p->displaced.n_undo, (uint32_t)index, a->hook);
  memcpy(island + TIDE_ISLAND_CODE_AT, p->displaced.code, p->displaced.n_bytes);
  memcpy(note.old, p->old, sizeof p->old);
  memcpy(note.hole_old, p->hole_old, sizeof p->hole_old);
  memcpy(island + TIDE_ISLAND_NOTE_AT, &note, sizeof note);
}

_Static_assert(TIDE_UNDO_BYTES + TIDE_ENTER_BYTES <= TIDE_ISLAND_CODE_AT, "islands overlap");
_Static_assert(TIDE_ISLAND_CODE_AT + TIDE_DISPLACED_BYTES <= TIDE_ISLAND_NOTE_AT, "and here");
_Static_assert(TIDE_ISLAND_NOTE_AT + sizeof(struct tide_island_note) <= TIDE_ISLAND_BYTES, "here");

enum tide_patch_step tide_attachment_map(struct tide_attachment *a)
{
  enum tide_patch_step step = call_for_ranges(a, true);
  if (step)
    return step;
  const struct tide_outside *outside = a->tracer->outside;
  uint64_t n = a->agent->n_bytes; // zeros are there already
  while (n && !a->agent->bytes[n - 1])
    n--;
  if (!tide_outside_write(outside, a->agent->base, a->agent->bytes, n))
    return failed(a, "the agent's memory cannot be written");
  for (size_t i = 0; i < a->plan->n_patches; i++) {
    uint8_t island[TIDE_ISLAND_BYTES];
    fill_island(a, &a->plan->patches[i], i, island);
    if (!tide_outside_write(outside, a->plan->patches[i].island, island, sizeof island))
      return failed(a, "the islands' memory cannot be written");
  }
  return TIDE_STEP_DONE;
}

// Where in the displaced code a pc is; 0: not in it, or at its beginning, which is harmless.
static unsigned displaced_at(const struct tide_patch *p, uint64_t pc)
{
  for (unsigned i = 1; i < p->displaced.n; i++)
    if (pc == p->at + p->displaced.from[i])
      return i;
  return 0;
}

static bool is_other_than_pc(const void *context, uint64_t address)
{
  return address != *(const uint64_t *)context;
}

// A return address or the frame of a signal among bytes that are to be overwritten.
static bool is_in_danger(const struct tide_attachment *a, const struct tide_patch *p)
{
  for (size_t i = 0; i < a->tracer->n; i++) {
    const struct tide_stopped *t = &a->tracer->threads[i];
    uint64_t pc = tide_stopped_pc(t);
    uint64_t movable = displaced_at(p, pc) ? pc : 0;
    if (!t->gone && tide_stopped_any(a->tracer, t, p->at + 1, p->at + p->displaced.taken,
                                     is_other_than_pc, &movable))
      return true;
  }
  return false;
}

static bool is_as_planned(const struct tide_attachment *a, const struct tide_patch *p)
{
  uint8_t now[sizeof p->old];
  return tide_outside_read(a->tracer->outside, p->at, now, p->n) && !memcmp(now, p->old, p->n);
}

static void move_threads(const struct tide_attachment *a, const struct tide_patch *p)
{
  for (size_t i = 0; i < a->tracer->n; i++) {
    struct tide_stopped *t = &a->tracer->threads[i];
    unsigned at = t->gone ? 0 : displaced_at(p, tide_stopped_pc(t));
    if (at)
      tide_stopped_move(t, p->island + TIDE_ISLAND_CODE_AT + p->displaced.moved[at]);
  }
}

enum tide_patch_step tide_attachment_apply(struct tide_attachment *a)
{
  const struct tide_outside *outside = a->tracer->outside;
  size_t jump_bytes = tide_displacer()->jump_bytes;
  for (size_t i = 0; i < a->plan->n_patches; i++) {
    const struct tide_patch *p = &a->plan->patches[i];
    if (!is_as_planned(a, p))
      return TIDE_STEP_REPLAN;
    if (p->form == TIDE_PATCH_CHECKED && is_in_danger(a, p))
      return later(a, "a stack holds an address among the instructions to be moved");
  }
  for (size_t i = 0; i < a->plan->n_patches; i++) {
    const struct tide_patch *p = &a->plan->patches[i];
    if (p->hole && !tide_outside_write(outside, p->hole, p->hole_jump, jump_bytes))
      return failed(a, "its code cannot be written");
    move_threads(a, p);
    if (!tide_outside_write(outside, p->at, p->jump, p->n))
      return failed(a, "its code cannot be written");
  }
  return TIDE_STEP_DONE;
}

// Two kinds of addresses in the agent stay on stacks for long after: those behind a call, and the
// beginnings of displaced code. Where they are in use the hook is at work, which is asked too. What
// is left is the pc in the frame of a signal that came at a hook's very beginning or end.
static bool is_inside(const void *context, uint64_t address)
{
  const struct tide_attachment *a = context;
  for (size_t i = 0; i < a->plan->n_patches; i++)
    if (address == a->plan->patches[i].island + TIDE_ISLAND_CODE_AT)
      return false;
  uint64_t at = address - a->agent->base;
  if (at >= a->agent->code_bytes)
    return true;
  const uint8_t *p = a->agent->bytes + at;
  bool behind_call = (at >= 5 && p[-5] == 0xe8) || (at >= 2 && p[-2] == 0xff) ||
                     (at >= 3 && p[-3] == 0xff) || (at >= 6 && p[-6] == 0xff);
  return !behind_call;
}

static bool is_anybody_inside(const struct tide_attachment *a)
{
  for (size_t i = 0; i < a->tracer->n; i++) {
    const struct tide_stopped *t = &a->tracer->threads[i];
    for (size_t k = 0; !t->gone && k <= a->plan->n_regions; k++) {
      const struct tide_reserved *r = &a->ranges[k];
      if (tide_stopped_any(a->tracer, t, r->at, r->at + r->n_bytes, is_inside, a))
        return true;
    }
    for (size_t k = 0; !t->gone && k < a->plan->n_patches; k++)
      if (a->plan->patches[k].hole && tide_stopped_pc(t) == a->plan->patches[k].hole)
        return true;
  }
  return false;
}

// Another tracer may have detached it, or the program may have changed its own code.
static bool is_still_ours(const struct tide_attachment *a)
{
  for (size_t i = 0; i < a->plan->n_patches; i++) {
    const struct tide_patch *p = &a->plan->patches[i];
    uint8_t now[sizeof p->jump];
    if (!tide_outside_read(a->tracer->outside, p->at, now, p->n) || memcmp(now, p->jump, p->n))
      return false;
  }
  return true;
}

// With the old code back nobody can come in, so once nobody is inside it stays that way.
enum tide_patch_step tide_attachment_undo(struct tide_attachment *a, bool (*at_work)(void *context),
                                          void *context)
{
  a->reason = "another tidemark has detached it";
  if (!a->is_undone && !is_still_ours(a))
    return TIDE_STEP_REPLAN;
  for (size_t i = 0; i < a->plan->n_patches && !a->is_undone; i++) {
    const struct tide_patch *p = &a->plan->patches[i];
    if (!tide_outside_write(a->tracer->outside, p->at, p->old, p->n))
      return failed(a, "its code cannot be written");
  }
  a->is_undone = true;
  if (at_work(context))
    return later(a, "a hook is at work");
  if (is_anybody_inside(a))
    return later(a, "a thread is in the agent");
  return TIDE_STEP_DONE;
}

enum tide_patch_step tide_attachment_unmap(struct tide_attachment *a)
{
  size_t jump_bytes = tide_displacer()->jump_bytes;
  enum tide_patch_step step = call_for_ranges(a, false);
  for (size_t i = 0; !step && i < a->plan->n_patches; i++) {
    const struct tide_patch *p = &a->plan->patches[i];
    if (p->hole)
      tide_outside_write(a->tracer->outside, p->hole, p->hole_old, jump_bytes);
  }
  return step;
}
