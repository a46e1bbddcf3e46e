// SPDX-License-Identifier: Apache-2.0
//
// A jump is ours if it leads to an island whose note names the very place it came from.
#include "attach/leftovers.h"

#include "base/alloc.h"

#include <string.h>

#define PAGE_BYTES UINT64_C(4096)

// Where the jump at a function's beginning leads in the end: by way of a hole, or not.
static uint64_t follow_jumps(const struct tide_outside *outside, uint64_t at, uint64_t *ret_hole)
{
  const struct tide_displacer *d = tide_displacer();
  uint8_t code[16];
  if (!tide_outside_read(outside, at, code, sizeof code))
    return 0;
  uint64_t to = d->jumps_to(code, at);
  *ret_hole = 0;
  if (to && d->short_bytes && to - at + d->short_reach < 2 * d->short_reach) {
    *ret_hole = to;
    to = tide_outside_read(outside, to, code, sizeof code) ? d->jumps_to(code, to) : 0;
  }
  return to;
}

static bool read_island(const struct tide_outside *outside, uint64_t at, struct tide_patch *patch,
                        uint64_t *ret_hook)
{
  const struct tide_displacer *d = tide_displacer();
  uint8_t island[TIDE_ISLAND_BYTES];
  struct tide_island_note note;
  if (!tide_outside_read(outside, patch->island, island, sizeof island))
    return false;
  memcpy(&note, island + TIDE_ISLAND_NOTE_AT, sizeof note);
  *ret_hook = d->entered(island);
  if (!*ret_hook)
    *ret_hook = d->entered(island + TIDE_UNDO_BYTES);
  if (note.magic != TIDE_ISLAND_MAGIC || note.at != at || note.hole != patch->hole ||
      note.n > sizeof patch->old || !note.n || !*ret_hook)
    return false;
  patch->at = at;
  patch->n = note.n;
  if (!tide_outside_read(outside, at, patch->jump, patch->n))
    return false;
  memcpy(patch->old, note.old, sizeof patch->old);
  memcpy(patch->hole_old, note.hole_old, sizeof patch->hole_old);
  return true;
}

static bool find_patch(const struct tide_outside *outside, const struct tide_hookable *entry,
                       struct tide_patch *ret_patch, uint64_t *ret_hook)
{
  static const size_t PADS[] = {0, 4};
  for (size_t i = 0; i < sizeof PADS / sizeof *PADS; i++) {
    struct tide_patch patch = {.entry = *entry};
    uint64_t at = entry->at + PADS[i];
    patch.island = follow_jumps(outside, at, &patch.hole);
    if (patch.island && read_island(outside, at, &patch, ret_hook)) {
      *ret_patch = patch;
      return true;
    }
  }
  return false;
}

static void note_region(const struct tide_outside *outside, uint64_t island, struct tide_plan *plan)
{
  const struct tide_mapping *m = tide_outside_find(outside, island);
  uint64_t at = island & ~(PAGE_BYTES - 1);
  for (size_t i = 0; i < plan->n_regions; i++)
    if (island - plan->regions[i].at < plan->regions[i].n_bytes)
      return;
  if (!m || m->path[0] || !m->executable)
    return;
  // Next to it the kernel may show another of our mappings as one with it; a region is as long as
  // islands follow each other.
  TIDE_GROW(plan->regions, plan->n_regions, plan->regions_cap);
  plan->regions[plan->n_regions++] = (struct tide_island_region){
      .at = m->lo, .n_bytes = m->hi - m->lo, .n_islands = (at - m->lo) / TIDE_ISLAND_BYTES};
}

// Is what lies behind the hook our agent, the very file?
static bool place_agent(const struct tide_outside *outside, struct tide_agent_image *agent,
                        uint64_t hook)
{
  struct tide_diag diag;
  uint64_t offset = tide_agent_image_find(agent, "tide_agent_enter") - agent->base;
  struct tide_agent_face face;
  if (tide_agent_image_place(agent, hook - offset, &diag))
    return false;
  uint64_t at = tide_agent_image_find(agent, "tide_agent_face");
  return at && tide_outside_read(outside, at, &face, sizeof face) &&
         face.magic == TIDE_AGENT_MAGIC && face.version == TIDE_AGENT_VERSION;
}

bool tide_leftovers_find(const struct tide_outside *outside, const struct tide_hookables *entries,
                         struct tide_agent_image *agent, struct tide_plan *ret_plan)
{
  struct tide_plan plan = {0};
  uint64_t hook = 0, last_hook = 0;
  for (size_t i = 0; i < entries->n; i++) {
    struct tide_patch patch;
    if (!find_patch(outside, &entries->all[i], &patch, &hook) || (last_hook && hook != last_hook))
      continue;
    last_hook = hook;
    TIDE_GROW(plan.patches, plan.n_patches, plan.patches_cap);
    plan.patches[plan.n_patches++] = patch;
    note_region(outside, patch.island, &plan);
  }
  if (!plan.n_patches || !place_agent(outside, agent, last_hook)) {
    tide_plan_done(&plan);
    return false;
  }
  *ret_plan = plan;
  return true;
}
