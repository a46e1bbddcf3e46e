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
#define CROWDED_NS (10 * UINT64_C(1000000)) // that a stop takes where many threads run

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

uint64_t tide_attachment_cave_of(const struct tide_loaded *loaded)
{
  uint64_t end = (loaded->code_hi + 15) & ~UINT64_C(15), room = -end & (PAGE_BYTES - 1);
  return room >= TIDE_CAVE_BYTES ? end : 0;
}

uint64_t tide_attachment_cave_of_vdso(const struct tide_outside *outside)
{
  for (size_t i = 0; i < outside->n_mappings; i++)
    if (!strcmp(outside->mappings[i].path, "[vdso]"))
      return outside->mappings[i].hi - TIDE_CAVE_BYTES;
  return 0;
}

// One of each neighbourhood: half as wide as the shortest way back (aarch64's) is long.
static void note_cave(struct tide_caves *caves, uint64_t at)
{
  const uint64_t wide = UINT64_C(1) << 26;
  bool is_new = at && caves->n < TIDE_CAVES;
  for (size_t i = 0; i < caves->n; i++)
    is_new &= at - caves->at[i] + wide > 2 * wide;
  if (is_new)
    caves->at[caves->n++] = at;
}

struct tide_caves tide_attachment_find_caves(const struct tide_outside *outside,
                                             const struct tide_loaded_list *objects)
{
  static const uint8_t ZEROS[TIDE_CAVE_BYTES];
  uint8_t bytes[TIDE_CAVE_BYTES];
  struct tide_caves caves = {0};
  for (size_t i = 0; i < objects->n; i++)
    note_cave(&caves, tide_attachment_cave_of(&objects->all[i]));
  uint64_t cave = tide_attachment_cave_of_vdso(outside);
  if (cave && tide_outside_read(outside, cave, bytes, sizeof bytes) &&
      !memcmp(bytes, ZEROS, sizeof bytes))
    note_cave(&caves, cave);
  return caves;
}

void tide_attachment_reserve(struct tide_attachment *a, struct tide_reserved range)
{
  a->ranges = tide_realloc_array(a->ranges, a->n_ranges + 1, sizeof *a->ranges);
  a->ranges[a->n_ranges++] = range;
}

static void reserve_agent(struct tide_attachment *a)
{
  const struct tide_agent_image *agent = a->agent;
  const struct tide_plan *plan = a->plan;
  tide_attachment_reserve(
      a, (struct tide_reserved){agent->base, agent->code_bytes, PROT_READ | PROT_EXEC, false});
  tide_attachment_reserve(a, (struct tide_reserved){agent->base + agent->code_bytes,
                                                    agent->n_bytes - agent->code_bytes,
                                                    PROT_READ | PROT_WRITE, false});
  for (size_t i = 0; i < plan->n_regions; i++)
    tide_attachment_reserve(a, (struct tide_reserved){plan->regions[i].at, plan->regions[i].n_bytes,
                                                      PROT_READ | PROT_EXEC, false});
}

// The mark takes the place of the ELF header, which nobody needs.
static void make_mark(struct tide_attachment *a)
{
  struct tide_agent_image *agent = a->agent;
  a->mark = (struct tide_agent_mark){.magic = TIDE_AGENT_MARK,
                                     .version = TIDE_AGENT_VERSION,
                                     .target_pid = a->tracer->outside->pid,
                                     .base = agent->base,
                                     .code_bytes = agent->code_bytes,
                                     .n_bytes = agent->n_bytes,
                                     .face = tide_agent_image_find(agent, "tide_agent_face")};
  a->mark.tracer_pid = a->tracer->recorder_pid;
  a->mark.tracer_born = tide_tracer_born(a->mark.tracer_pid);
  memcpy(agent->bytes, &a->mark, sizeof a->mark);
}

static void reserve_tables(struct tide_attachment *a, struct tide_outside *outside,
                           const struct tide_loaded_list *objects)
{
  for (size_t i = 0; i < objects->n && a->n_tables < TIDE_AGENT_TABLES; i++) {
    struct tide_frame_table table = {.of = &objects->all[i]};
    if (tide_loaded_has_table(table.of) || !tide_frame_table_make(outside, &table))
      continue;
    tide_attachment_reserve(a, (struct tide_reserved){table.at, table.n_bytes, PROT_READ, false});
    a->tables[a->n_tables++] = table;
  }
}

static void reserve_maps(struct tide_attachment *a, struct tide_outside *outside)
{
  if (tide_given_maps_make(outside, &a->maps))
    tide_attachment_reserve(a,
                            (struct tide_reserved){a->maps.at, a->maps.n_bytes, PROT_READ, false});
}

bool tide_attachment_init(struct tide_attachment *a, const struct tide_plan *plan,
                          struct tide_agent_image *agent, struct tide_tracer *tracer,
                          struct tide_outside *outside, const struct tide_loaded_list *objects,
                          const char **ret_why)
{
  struct tide_diag diag;
  *a = (struct tide_attachment){.plan = plan, .agent = agent, .tracer = tracer};
  *ret_why = "no object has room behind its code for the few bytes that map the agent";
  a->caves = tide_attachment_find_caves(outside, objects);
  if (!a->caves.n)
    return false;
  *ret_why = "there is no free range of addresses for the agent";
  uint64_t near = plan->n_regions ? plan->regions[0].at : a->caves.at[0];
  uint64_t base = tide_outside_gap(outside, near + (UINT64_C(8) << 20), agent->n_bytes, UINT64_MAX);
  if (!base)
    return false;
  tide_outside_claim(outside, base, agent->n_bytes);
  *ret_why = "the agent's file is damaged";
  if (tide_agent_image_place(agent, base, &diag))
    return false;
  *ret_why = "the agent's file has no entry";
  if (!(a->hook = tide_agent_image_find(agent, "tide_agent_enter")) ||
      !(a->hook_new = tide_agent_image_find(agent, "tide_agent_enter_new")) ||
      !(a->quick.alloc = tide_agent_image_find(agent, "tide_agent_alloc")) ||
      !(a->quick.malloc = tide_agent_image_find(agent, "tide_agent_malloc")) ||
      !(a->quick.free = tide_agent_image_find(agent, "tide_agent_free")) ||
      !(a->quick.ask = tide_agent_image_find(agent, "tide_agent_ask")))
    return false;
  make_mark(a);
  reserve_agent(a);
  reserve_tables(a, outside, objects);
  reserve_maps(a, outside);
  *ret_why = "its objects lie too far apart";
  return a->n_ranges <= TIDE_AGENT_RANGES;
}

void tide_attachment_done(struct tide_attachment *a)
{
  for (size_t i = 0; i < a->n_tables; i++)
    free(a->tables[i].bytes);
  free(a->maps.text);
  free(a->ranges);
  *a = (struct tide_attachment){0};
}

// Mapping and unmapping. Each call says where its range is.

static struct tide_remote_call call_for(const struct tide_reserved *r, bool map)
{
  if (!map)
    return (struct tide_remote_call){.number = SYS_munmap,
                                     .arguments = {(long)r->at, (long)r->n_bytes}};
  return (struct tide_remote_call){.number = SYS_mmap,
                                   .arguments = {(long)r->at, (long)r->n_bytes, r->protection,
                                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                                                 -1, 0}};
}

static enum tide_patch_step call_for_range(struct tide_attachment *a, struct tide_reserved *r,
                                           bool map)
{
  struct tide_remote_call call = call_for(r, map);
  if (r->is_mapped == map)
    return TIDE_STEP_DONE;
  if (!tide_tracer_call(a->tracer, &a->caves, &call))
    return later(a, a->tracer->hindered);
  if (call.result == -EEXIST)
    return TIDE_STEP_REPLAN;
  if (call.result != (map ? call.arguments[0] : 0))
    return failed(a, "the process may not map memory for it");
  r->is_mapped = map;
  return TIDE_STEP_DONE;
}

static bool is_zeros(const uint8_t *bytes, uint64_t n)
{
  while (n && !*bytes)
    bytes++, n--;
  return !n;
}

// Pages with nothing but zeros are left out: so are new ones, most of the agent is zeros, and each
// page that is written takes memory, and time in which a thread stands still. The last come first:
// what says that the agent's face is there stands at its beginning.
static bool write_agent(const struct tide_outside *outside, const struct tide_agent_image *agent)
{
  uint64_t end = agent->n_bytes; // of what is to be written at once
  for (uint64_t hi = end, lo; hi; hi = lo) {
    lo = (hi - 1) / PAGE_BYTES * PAGE_BYTES;
    bool is_empty = is_zeros(agent->bytes + lo, hi - lo);
    uint64_t from = is_empty ? hi : lo;
    if ((is_empty || !lo) && end > from &&
        !tide_outside_write(outside, agent->base + from, agent->bytes + from, end - from))
      return false;
    end = is_empty ? lo : end;
  }
  return true;
}

// Code and data of the agent. Once there is code it has its mark, whatever happens then.
static enum tide_patch_step map_agent(struct tide_attachment *a)
{
  const struct tide_outside *outside = a->tracer->outside;
  struct tide_reserved *code = &a->ranges[0], *data = &a->ranges[1];
  if (code->is_mapped && data->is_mapped)
    return TIDE_STEP_DONE;
  enum tide_patch_step step = call_for_range(a, code, true);
  if (!step && !tide_outside_write(outside, a->mark.base, &a->mark, sizeof a->mark))
    step = failed(a, "the agent's memory cannot be written");
  if (!step)
    step = call_for_range(a, data, true);
  if (!step && !write_agent(outside, a->agent))
    step = failed(a, "the agent's memory cannot be written");
  return step;
}

static enum tide_patch_step map_rest(struct tide_attachment *a)
{
  enum tide_patch_step step = TIDE_STEP_DONE;
  for (size_t i = 0; !step && i < a->n_ranges; i++)
    step = call_for_range(a, &a->ranges[i], true);
  return step;
}

static bool is_part(const struct tide_reserved *r, const struct tide_reserved *of)
{
  return r->at - of->at < of->n_bytes;
}

// With what lies next to it on either side, all but the first.
static struct tide_reserved with_neighbours(const struct tide_attachment *a, size_t i)
{
  struct tide_reserved whole = a->ranges[i];
  bool has_grown = i > 0;
  while (has_grown) {
    has_grown = false;
    for (size_t k = 1; k < a->n_ranges; k++) {
      const struct tide_reserved *r = &a->ranges[k];
      bool is_below = r->at + r->n_bytes == whole.at, is_above = r->at == whole.at + whole.n_bytes;
      if (!r->is_mapped || (!is_below && !is_above))
        continue;
      whole.at = is_below ? r->at : whole.at;
      whole.n_bytes += r->n_bytes;
      has_grown = true;
    }
  }
  return whole;
}

static enum tide_patch_step unmap_with_neighbours(struct tide_attachment *a, size_t i)
{
  struct tide_reserved whole = with_neighbours(a, i);
  enum tide_patch_step step = call_for_range(a, &whole, false);
  for (size_t k = i ? 1 : 0; !step && k < a->n_ranges; k++)
    a->ranges[k].is_mapped &= !is_part(&a->ranges[k], &whole);
  return step;
}

// Last things first: the agent's code, with the mark, is the last to go. There may be hundreds, of
// which no thread does more than a few: a large one takes as long as all of its parts. But where a
// thread is long in coming it is so at each call, a hundred times: there neighbours go with one.
enum tide_patch_step tide_attachment_unmap(struct tide_attachment *a)
{
  enum { MOST = 2 };
  bool is_crowded = a->tracer->stopped_ns > CROWDED_NS;
  enum tide_patch_step step = TIDE_STEP_DONE;
  unsigned n = 0;
  for (size_t i = a->n_ranges; !step && i > 0; i--) {
    if (!a->ranges[i - 1].is_mapped)
      continue;
    if (n++ == MOST)
      return TIDE_STEP_MORE;
    step =
        is_crowded ? unmap_with_neighbours(a, i - 1) : call_for_range(a, &a->ranges[i - 1], false);
  }
  return step;
}

static uint64_t enter_for(const struct tide_attachment *a, enum tide_role role)
{
  switch (role) {
  case TIDE_ROLE_NEW: // it throws, or it may wait for ever: no frame of ours is beneath it
  case TIDE_ROLE_NEW_ALIGNED:
  case TIDE_ROLE_VOW:
  case TIDE_ROLE_CALL:
  case TIDE_ROLE_LOADED: return a->hook_new;
  default: return a->hook;
  }
}

static uint64_t quick_for(const struct tide_attachment *a, enum tide_role role)
{
  switch (role) {
  case TIDE_ROLE_ALLOC:
  case TIDE_ROLE_ALLOC_ALIGNED: return a->quick.malloc;
  case TIDE_ROLE_ALLOC_SECOND:
  case TIDE_ROLE_CALLOC: return a->quick.alloc;
  case TIDE_ROLE_FREE: return a->quick.free;
  case TIDE_ROLE_ASK: return a->quick.ask;
  default: return 0;
  }
}

// Whose block Rust's functions give is told by event.c alone.
static struct tide_way way_of(const struct tide_attachment *a, const struct tide_patch *p)
{
  const struct tide_loaded *loaded = p->entry.loaded;
  // A door is called by its own object, and by a header that no compiler sees through.
  uint64_t own_bytes = p->entry.role == TIDE_ROLE_ASK ? 0 : loaded->code_hi - loaded->code_lo;
  bool has_quick = p->entry.family != TIDE_FAMILY_RUST && own_bytes <= INT32_MAX;
  return (struct tide_way){
      .at = p->island + p->displaced.n_undo,
      .hook = a->mark.face + offsetof(struct tide_agent_face, hooks) +
              p->index * sizeof(struct tide_agent_hook),
      .enter = enter_for(a, p->entry.role),
      .quick = has_quick ? quick_for(a, p->entry.role) : 0,
      .own_lo = loaded->code_lo,
      .own_bytes = (uint32_t)own_bytes,
  };
}

static void fill_island(const struct tide_attachment *a, const struct tide_patch *p,
                        uint8_t bytes[TIDE_ISLAND_BYTES])
{
  struct tide_island island = {
      &p->displaced, way_of(a, p), {.at = p->at, .hole = p->hole, .n = (uint8_t)p->n}};
  memcpy(island.note.old, p->old, sizeof p->old);
  memcpy(island.note.hole_old, p->hole_old, sizeof p->hole_old);
  tide_island_write(&island, bytes);
}

enum tide_patch_step tide_attachment_map(struct tide_attachment *a)
{
  enum tide_patch_step step = a->agent ? map_agent(a) : TIDE_STEP_DONE;
  if (!step)
    step = map_rest(a);
  for (size_t i = 0; !step && i < a->n_tables; i++)
    if (!tide_outside_write(a->tracer->outside, a->tables[i].at, a->tables[i].bytes,
                            a->tables[i].n_bytes))
      step = failed(a, "memory for unwind information cannot be written");
  if (!step && a->maps.at &&
      !tide_outside_write(a->tracer->outside, a->maps.at, a->maps.text, a->maps.n_text))
    step = failed(a, "memory for the list of what is mapped cannot be written");
  for (size_t i = 0; !step && i < a->plan->n_patches; i++) {
    uint8_t island[TIDE_ISLAND_BYTES];
    fill_island(a, &a->plan->patches[i], island);
    if (!tide_outside_write(a->tracer->outside, a->plan->patches[i].island, island, sizeof island))
      step = failed(a, "the islands' memory cannot be written");
  }
  return step;
}

// Where in the displaced code a pc is; 0: not in it, or at its beginning, which is harmless.
static unsigned displaced_at(const struct tide_patch *p, uint64_t pc)
{
  for (unsigned i = 1; i < p->displaced.n; i++)
    if (pc == p->at + p->displaced.from[i])
      return i;
  return 0;
}

struct danger {
  uint64_t lo, hi, movable; // a pc there can be moved away
};

static bool is_among(const void *context, const struct tide_met *met)
{
  const struct danger *danger = context;
  return met->address >= danger->lo && met->address < danger->hi && met->address != danger->movable;
}

// A return address or the frame of a signal among bytes that are to be overwritten.
static bool is_in_danger(const struct tide_attachment *a, const struct tide_patch *p)
{
  for (size_t i = 0; i < a->tracer->n; i++) {
    const struct tide_stopped *t = &a->tracer->threads[i];
    uint64_t pc = tide_stopped_pc(t);
    const struct danger danger = {p->at + 1, p->at + p->displaced.taken,
                                  displaced_at(p, pc) ? pc : 0};
    if (!t->gone && tide_stopped_any(a->tracer, t, is_among, &danger))
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

static bool is_within(uint64_t address, uint64_t lo, uint64_t n)
{
  return address - lo < n;
}

// Where a thread is, or was when a signal came. Return addresses in the agent need no look: while
// one is in use its hook is at work, which is_at_work() sees, and others stay on stacks for long.
static bool is_inside(const void *context, const struct tide_met *met)
{
  const struct tide_attachment *a = context;
  size_t jump_bytes = tide_displacer()->jump_bytes;
  if (!met->is_pc)
    return false;
  for (size_t i = 0; i < a->n_ranges; i++)
    if (a->ranges[i].protection & PROT_EXEC &&
        is_within(met->address, a->ranges[i].at, a->ranges[i].n_bytes))
      return true;
  for (size_t i = 0; i < a->plan->n_patches; i++)
    if (a->plan->patches[i].hole && is_within(met->address, a->plan->patches[i].hole, jump_bytes))
      return true;
  return false;
}

static bool is_anybody_inside(const struct tide_attachment *a)
{
  for (size_t i = 0; i < a->tracer->n; i++)
    if (!a->tracer->threads[i].gone &&
        tide_stopped_any_deep(a->tracer, &a->tracer->threads[i], is_inside, a))
      return true;
  return false;
}

// Its library may be gone, or another is there now; the program may have changed its own code.
static bool is_still_ours(const struct tide_attachment *a, const struct tide_patch *p)
{
  uint8_t now[sizeof p->jump];
  return tide_outside_read(a->tracer->outside, p->at, now, p->n) && !memcmp(now, p->jump, p->n);
}

static bool has_our_hole(const struct tide_attachment *a, const struct tide_patch *p)
{
  uint8_t now[16];
  return p->hole && tide_outside_read(a->tracer->outside, p->hole, now, sizeof now) &&
         tide_displacer()->jumps_to(now, p->hole) == p->island;
}

// False: another tracer has detached it.
static bool is_any_ours(const struct tide_attachment *a)
{
  bool any = !a->plan->n_patches;
  for (size_t i = 0; i < a->plan->n_patches && !any; i++)
    any = is_still_ours(a, &a->plan->patches[i]);
  return any;
}

// With the old code back nobody can come in, so once nobody is inside it stays that way.
enum tide_patch_step tide_attachment_undo(struct tide_attachment *a, bool (*at_work)(void *context),
                                          void *context)
{
  a->reason = "another tidemark has detached it";
  if (!a->is_undone && !is_any_ours(a))
    return TIDE_STEP_REPLAN;
  for (size_t i = 0; i < a->plan->n_patches && !a->is_undone; i++) {
    const struct tide_patch *p = &a->plan->patches[i];
    if (is_still_ours(a, p) && !tide_outside_write(a->tracer->outside, p->at, p->old, p->n))
      return failed(a, "its code cannot be written");
  }
  a->is_undone = true;
  if (at_work(context))
    return later(a, "a hook is at work");
  if (is_anybody_inside(a))
    return later(a, "a thread is in the agent");
  for (size_t i = 0; i < a->plan->n_patches; i++) {
    const struct tide_patch *p = &a->plan->patches[i];
    if (has_our_hole(a, p))
      tide_outside_write(a->tracer->outside, p->hole, p->hole_old, tide_displacer()->jump_bytes);
  }
  return TIDE_STEP_DONE;
}
