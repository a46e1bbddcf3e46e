// SPDX-License-Identifier: Apache-2.0
//
// A plan carried out, step by step, in this order:
//
//   map      one thread stopped    room for the agent and the islands, filled
//   apply    all stopped           the jumps
//   ...
//   undo     all stopped           the old code; is anybody still inside?
//   unmap    one thread stopped    nothing is left behind
//
// A step that says LATER is tried again after a pause. Killed between or within any two of them, we
// leave a process that works, and notes by which the next tracer finds and undoes what is there
// (leftovers.h). So the agent's code comes first, with a mark at its beginning, and goes last.
#pragma once
#include "attach/agent_image.h"
#include "attach/given_maps.h"
#include "attach/loaded.h"
#include "attach/plan.h"
#include "attach/tracer.h"

enum tide_patch_step {
  TIDE_STEP_DONE,
  TIDE_STEP_MORE,   // a part of it is done; the next part, if another thread can be had
  TIDE_STEP_LATER,  // a thread was where it must not be, or a signal came
  TIDE_STEP_REPLAN, // the process is not as it was when the plan was made
  TIDE_STEP_FAILED,
};

struct tide_reserved {
  uint64_t at, n_bytes;
  int protection;
  bool is_mapped;
};

struct tide_attachment {
  const struct tide_plan *plan;
  struct tide_agent_image *agent; // NULL: another tracer has put it there
  struct tide_tracer *tracer;
  struct tide_agent_mark mark;
  struct tide_caves caves;      // where a borrowed thread's code goes
  struct tide_reserved *ranges; // the agent's code, its data, regions of islands; then the rest
  size_t n_ranges;
  struct tide_frame_table tables[TIDE_AGENT_TABLES];
  size_t n_tables;
  struct tide_given_maps maps; // where the process sees no /proc
  uint64_t hook;               // where islands go
  uint64_t hook_new;           // of functions that may throw
  struct tide_agent_quick quick;
  bool is_undone;     // the old code is back
  const char *reason; // of a step that was not done
};

// Finds a place for the agent and relocates it there. False with a reason: there is none.
bool tide_attachment_init(struct tide_attachment *attachment, const struct tide_plan *plan,
                          struct tide_agent_image *agent, struct tide_tracer *tracer,
                          struct tide_outside *outside, const struct tide_loaded_list *objects,
                          const char **ret_why);
void tide_attachment_done(struct tide_attachment *attachment);

// One more range of addresses, to be mapped, or to be unmapped in the end.
void tide_attachment_reserve(struct tide_attachment *attachment, struct tide_reserved range);

enum tide_patch_step tide_attachment_map(struct tide_attachment *attachment);
enum tide_patch_step tide_attachment_apply(struct tide_attachment *attachment);
// at_work: does a thread run a hook? Asked with all stopped.
enum tide_patch_step tide_attachment_undo(struct tide_attachment *attachment,
                                          bool (*at_work)(void *context), void *context);
enum tide_patch_step tide_attachment_unmap(struct tide_attachment *attachment);

// Code of a thread that is borrowed for system calls lies in the rest of the page behind some
// object's code, where there is nothing. 0: no object has room there.
uint64_t tide_attachment_cave_of(const struct tide_loaded *loaded);
// The end of the kernel's own page of code, which is zeros mostly; 0: there is none.
uint64_t tide_attachment_cave_of_vdso(const struct tide_outside *outside);
// Those with nothing in them, one of each neighbourhood.
struct tide_caves tide_attachment_find_caves(const struct tide_outside *outside,
                                             const struct tide_loaded_list *objects);

// ---- the agent's face ----
//
// The agent's face (store/agent_face.h) as the tracer fills it in: what the agent must be told of
// the process that it wakes up in.

// In the agent's image; NULL: it has none.
struct tide_agent_face *tide_face_of(const struct tide_agent_image *agent);

struct tide_face_options {
  uint64_t store_bytes;
  uint32_t depth_limit; // frames of a stack; 0: all
  uint32_t sample_bits; // one sample for 2^n bytes; 0: every event
  const char *door;     // where fork children ask for stores; NULL: they do not
  const char *library;  // what programs preload that it becomes; NULL: nothing
};

// What the agent must know of one hook. program: the path of the process's own.
struct tide_agent_hook tide_face_hook(const struct tide_plan *plan, const struct tide_patch *patch,
                                      const char *program);
// A number for a mapping of code, never 0: another when another file is there.
uint64_t tide_face_object(const struct tide_mapping *mapping);

// False: it does not fit.
bool tide_face_fill(const struct tide_attachment *attachment,
                    const struct tide_face_options *options);
