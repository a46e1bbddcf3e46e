// SPDX-License-Identifier: Apache-2.0
//
// One function after the other: the short form if it can be, a jump if not, else a refusal.
#include "attach/plan.h"

#include "base/alloc.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FUNCTION_BYTES = 1 << 16, REGION_BYTES = 16 << 10, ALIGNED_BYTES = 16 };

const char *tide_patch_form_words(enum tide_patch_form form)
{
  static const char *const WORDS[] = {
      [TIDE_PATCH_SHORT] = "by a short jump over its first instruction",
      [TIDE_PATCH_SINGLE] = "by a jump over its first instruction",
      [TIDE_PATCH_CHECKED] = "by a jump over its first instructions, when no thread is there",
  };
  return WORDS[form];
}

// The plan in the making, for one function.
struct making {
  struct tide_outside *outside;
  const struct tide_displacer *displacer;
  struct tide_plan *plan;
  const struct tide_loaded *loaded;
  struct tide_patch patch;
  struct tide_code function;
  size_t pad;
  const char *why;
};

// From the process, or from the file where that is all there is.
static bool read_code(const struct making *m, uint64_t at, uint8_t *to, size_t n)
{
  if (m->outside->memory_fd >= 0)
    return tide_outside_read(m->outside, at, to, n);
  return tide_loaded_read(m->loaded, at, to, n);
}

// Symbols written in assembler may have no size; the unwind information knows the true extent.
static uint64_t function_bytes(const struct making *m)
{
  const struct tide_hookable *entry = &m->patch.entry;
  struct tide_extent extent;
  uint64_t n = entry->bytes;
  if (tide_loaded_extent(m->loaded, entry->at, &extent) && extent.lo == entry->at &&
      extent.hi - extent.lo > n)
    n = extent.hi - extent.lo;
  return n < MAX_FUNCTION_BYTES ? n : MAX_FUNCTION_BYTES;
}

// By a hole of the same size, or by a jump that is longer than its function.
static bool is_taken(const struct tide_plan *plan, uint64_t at, size_t n)
{
  for (size_t i = 0; i < plan->n_patches; i++) {
    const struct tide_patch *p = &plan->patches[i];
    if ((p->hole && p->hole < at + n && at < p->hole + n) || (p->at < at + n && at < p->at + p->n))
      return true;
  }
  return false;
}

static bool consider_gap(void *context, struct tide_extent gap)
{
  struct making *m = context;
  const struct tide_displacer *d = m->displacer;
  uint8_t bytes[64], jump[16];
  size_t n = gap.hi - gap.lo;
  if (n < d->jump_bytes || n > sizeof bytes || !read_code(m, gap.lo, bytes, n) ||
      !d->is_padding(&(struct tide_code){bytes, n, gap.lo}))
    return false;
  for (uint64_t at = gap.lo; at + d->jump_bytes <= gap.hi; at++)
    if (d->short_jump(jump, m->patch.at, at) && !is_taken(m->plan, at, d->jump_bytes)) {
      m->patch.hole = at;
      memcpy(m->patch.hole_old, bytes + (at - gap.lo), d->jump_bytes);
      return true;
    }
  return false;
}

static bool move_beginning(struct making *m, size_t need)
{
  return m->displacer->move(&m->function, m->pad, need, m->patch.island + TIDE_ISLAND_CODE_AT,
                            &m->patch.displaced, &m->why);
}

// Two bytes that displace one instruction, and a hole for the rest of the way.
static bool try_short(struct making *m)
{
  const struct tide_displacer *d = m->displacer;
  struct tide_patch *p = &m->patch;
  // What is behind a shorter instruction may be the hole itself.
  if (!d->short_bytes || !move_beginning(m, d->short_bytes) || p->displaced.n != 1 ||
      p->displaced.taken < d->short_bytes || p->displaced.taken >= d->jump_bytes)
    return false;
  uint64_t span = d->short_reach + 64;
  tide_loaded_each_gap(m->loaded, p->at - span, p->at + span, consider_gap, m);
  if (!p->hole || !d->jump(p->hole_jump, p->hole, p->island) ||
      !d->short_jump(p->jump, p->at, p->hole)) {
    p->hole = 0;
    return false;
  }
  p->form = TIDE_PATCH_SHORT;
  p->n = d->short_bytes;
  return true;
}

// A function of one instruction, shorter than a jump, with padding behind it that nothing runs
// into.
static bool try_tiny(struct making *m)
{
  const struct tide_displacer *d = m->displacer;
  struct tide_patch *p = &m->patch;
  size_t n = m->function.n;
  struct tide_code rest = {m->function.bytes + n, ALIGNED_BYTES - n, m->function.at + n};
  if (m->pad || n >= d->jump_bytes || p->at % ALIGNED_BYTES || !d->is_padding(&rest) ||
      is_taken(m->plan, p->at, d->jump_bytes) || !move_beginning(m, n) || p->displaced.n != 1 ||
      !d->jump(p->jump, p->at, p->island))
    return false;
  p->form = TIDE_PATCH_SINGLE;
  p->n = d->jump_bytes;
  return true;
}

static bool try_jump(struct making *m)
{
  const struct tide_displacer *d = m->displacer;
  struct tide_patch *p = &m->patch;
  if (!move_beginning(m, d->jump_bytes))
    return false;
  if (!d->jump(p->jump, p->at, p->island)) {
    m->why = "no free memory is within reach of it";
    return false;
  }
  p->form = p->displaced.n == 1 ? TIDE_PATCH_SINGLE : TIDE_PATCH_CHECKED;
  p->n = d->jump_bytes;
  if (p->form == TIDE_PATCH_CHECKED && d->branches_into(&m->function, m->pad, d->jump_bytes)) {
    m->why = "it branches back among its first instructions";
    return false;
  }
  return true;
}

// Has somebody else changed the code, or is it another file than the one loaded?
static bool is_as_in_file(const struct making *m)
{
  uint8_t bytes[16];
  size_t n = m->function.n < sizeof bytes ? m->function.n : sizeof bytes;
  return tide_loaded_read(m->loaded, m->function.at, bytes, n) &&
         !memcmp(bytes, m->function.bytes, n);
}

static struct tide_island_region *region_for(struct making *m, uint64_t at)
{
  struct tide_plan *plan = m->plan;
  uint64_t reach = m->displacer->reach - REGION_BYTES;
  for (size_t i = 0; i < plan->n_regions; i++) {
    struct tide_island_region *r = &plan->regions[i];
    uint64_t distance = r->at > at ? r->at - at : at - r->at;
    if (distance < reach && (r->n_islands + 1) * TIDE_ISLAND_BYTES <= r->n_bytes)
      return r;
  }
  uint64_t gap = tide_outside_gap(m->outside, at, REGION_BYTES, reach);
  if (!gap)
    return NULL;
  tide_outside_claim(m->outside, gap, REGION_BYTES);
  TIDE_GROW(plan->regions, plan->n_regions, plan->regions_cap);
  plan->regions[plan->n_regions] = (struct tide_island_region){gap, REGION_BYTES, 0};
  return &plan->regions[plan->n_regions++];
}

static bool is_for_this_machine(const struct making *m)
{
  GElf_Ehdr header;
  return gelf_getehdr(m->loaded->elf->elf, &header) && header.e_machine == m->displacer->machine;
}

static bool plan_function(struct making *m, uint8_t *code)
{
  struct tide_patch *p = &m->patch;
  uint64_t n = function_bytes(m);
  // What follows a tiny function is decoded, never moved.
  size_t have = n < ALIGNED_BYTES ? ALIGNED_BYTES : n;
  m->why = "it is for another kind of processor";
  if (!is_for_this_machine(m))
    return false;
  m->why = "its code cannot be read";
  if (!read_code(m, p->entry.at, code, have)) {
    m->plan->is_outdated |= m->outside->memory_fd >= 0;
    return false;
  }
  m->function = (struct tide_code){code, n ? n : have, p->entry.at};
  m->why = "its code is not that of its file: it was changed, or the file was replaced";
  if (!is_as_in_file(m))
    return false;
  struct tide_island_region *region = region_for(m, p->entry.at);
  m->why = "no free memory is within reach of it";
  if (!region)
    return false;
  m->pad = m->displacer->landing(&m->function);
  p->at = p->entry.at + m->pad;
  p->island = region->at + region->n_islands * TIDE_ISLAND_BYTES;
  if (!try_short(m) && !try_jump(m) && !try_tiny(m))
    return false;
  memcpy(p->old, code + m->pad, p->n);
  region->n_islands++;
  return true;
}

static bool is_allocators(const struct tide_hookable *entry)
{
  return entry->role <= TIDE_ROLE_ARENA_FREE && entry->family != TIDE_FAMILY_PAGES;
}

static bool gives_blocks(const struct tide_hookable *entry)
{
  return is_allocators(entry) && entry->role != TIDE_ROLE_FREE &&
         entry->role != TIDE_ROLE_ARENA_FREE;
}

static void plan_entry(struct making *m, const struct tide_hookable *entry, uint8_t *code)
{
  struct tide_plan *plan = m->plan;
  m->patch = (struct tide_patch){.entry = *entry};
  m->loaded = entry->loaded;
  m->function = (struct tide_code){0};
  if (plan_function(m, code)) {
    TIDE_GROW(plan->patches, plan->n_patches, plan->patches_cap);
    m->patch.index = (uint32_t)plan->n_patches;
    plan->patches[plan->n_patches++] = m->patch;
  } else {
    TIDE_GROW(plan->refusals, plan->n_refusals, plan->refusals_cap);
    uint64_t passes_on =
        m->function.n && m->displacer->passes_on ? m->displacer->passes_on(&m->function) : 0;
    plan->refusals[plan->n_refusals++] = (struct tide_refusal){*entry, m->why, passes_on};
  }
}

// Nothing is missed by a function that passes on the blocks of one that is hooked.
static void drop_needless_refusals(struct tide_plan *plan)
{
  size_t n = 0;
  for (size_t i = 0; i < plan->n_refusals; i++) {
    const struct tide_refusal *r = &plan->refusals[i];
    bool is_needless = false;
    for (size_t k = 0; r->passes_on && k < plan->n_patches && !is_needless; k++)
      is_needless = plan->patches[k].entry.at == r->passes_on &&
                    gives_blocks(&plan->patches[k].entry) && gives_blocks(&r->entry);
    if (!is_needless)
      plan->refusals[n++] = *r;
  }
  plan->n_refusals = n;
}

// First those that need the bytes behind them, which may be a hole to others.
void tide_plan_add(struct tide_outside *outside, const struct tide_hookables *entries,
                   struct tide_plan *plan)
{
  TIDE_CLEANUP_FREE uint8_t *code = tide_alloc(MAX_FUNCTION_BYTES);
  struct making m = {.outside = outside, .displacer = tide_displacer(), .plan = plan};
  for (int is_long = 0; is_long < 2; is_long++)
    for (size_t i = 0; i < entries->n; i++)
      if ((entries->all[i].bytes >= m.displacer->jump_bytes) == is_long)
        plan_entry(&m, &entries->all[i], code);
  drop_needless_refusals(plan);
}

static void plan_found(struct tide_outside *outside, const struct tide_loaded_list *objects,
                       void (*find)(const struct tide_loaded_list *, struct tide_hookables *),
                       struct tide_plan *plan)
{
  struct tide_hookables entries;
  find(objects, &entries);
  tide_plan_add(outside, &entries, plan);
  tide_hookables_done(&entries);
}

static void plan_doors(struct tide_outside *outside, const struct tide_loaded_list *objects,
                       struct tide_plan *plan)
{
  struct tide_hookables doors = {0};
  tide_hookables_find_doors(objects, &doors);
  tide_plan_add(outside, &doors, plan);
  tide_hookables_done(&doors);
}

// Allocators first: by the first of their functions the face names the allocator.
void tide_plan_make(struct tide_outside *outside, const struct tide_loaded_list *objects,
                    bool follows, struct tide_plan *ret_plan)
{
  *ret_plan = (struct tide_plan){0};
  plan_found(outside, objects, tide_hookables_find, ret_plan);
  plan_found(outside, objects, tide_hookables_find_vows, ret_plan);
  plan_found(outside, objects, tide_hookables_find_loads, ret_plan);
  plan_doors(outside, objects, ret_plan);
  if (follows)
    plan_found(outside, objects, tide_hookables_find_exec, ret_plan);
}

// ---- what the plan would see ----

static bool is_same_allocator(const struct tide_hookable *a, const struct tide_hookable *b)
{
  return a->family == b->family && a->loaded == b->loaded;
}

static bool has_way_in(const struct tide_plan *plan, const struct tide_hookable *entry)
{
  for (size_t i = 0; i < plan->n_patches; i++)
    if (gives_blocks(&plan->patches[i].entry) && is_same_allocator(&plan->patches[i].entry, entry))
      return true;
  return false;
}

void tide_plan_unhooked(const struct tide_plan *plan, char *to, size_t size)
{
  const struct tide_refusal *first = NULL;
  size_t n = 0;
  *to = 0;
  for (size_t i = 0; i < plan->n_refusals && n < size; i++) {
    const struct tide_refusal *r = &plan->refusals[i];
    if (!gives_blocks(&r->entry) || has_way_in(plan, &r->entry) ||
        (first && !is_same_allocator(&first->entry, &r->entry)))
      continue;
    n += (size_t)snprintf(to + n, size - n, "%s%s", first ? ", " : "", r->entry.name);
    first = first ? first : r;
  }
  if (first && n < size)
    snprintf(to + n, size - n, ": %s", first->why);
}

// Without it something of the heap may be missed.
static bool is_missed(const struct tide_hookable *entry)
{
  return is_allocators(entry) || entry->role == TIDE_ROLE_LOADED;
}

static bool is_first_with_reason(const struct tide_plan *plan, size_t k)
{
  for (size_t i = 0; i < k; i++)
    if (is_missed(&plan->refusals[i].entry) &&
        !strcmp(plan->refusals[i].why, plan->refusals[k].why))
      return false;
  return true;
}

// "calloc, memalign: it begins with a call"
static size_t put_with_reason(const struct tide_plan *plan, const char *why, char *to, size_t size)
{
  size_t n = 0;
  for (size_t i = 0; i < plan->n_refusals && n < size; i++) {
    const struct tide_hookable *entry = &plan->refusals[i].entry;
    if (is_missed(entry) && !strcmp(plan->refusals[i].why, why))
      n += (size_t)snprintf(
          to + n, size - n, "%s%s%s", n ? ", " : "", entry->name,
          entry->role == TIDE_ROLE_LOADED ? " (the sign that libraries come later)" : "");
  }
  if (n < size)
    n += (size_t)snprintf(to + n, size - n, ": %s", why);
  return n;
}

void tide_plan_refused(const struct tide_plan *plan, char *to, size_t size)
{
  size_t n = 0;
  *to = 0;
  for (size_t i = 0; i < plan->n_refusals && n < size; i++)
    if (is_missed(&plan->refusals[i].entry) && is_first_with_reason(plan, i)) {
      n += (size_t)snprintf(to + n, size - n, "%s", n ? "; " : "");
      if (n < size)
        n += put_with_reason(plan, plan->refusals[i].why, to + n, size - n);
    }
}

// Pages alone are not what is asked for, but better than nothing where no allocator is known. One
// that is known and cannot be hooked is another matter.
enum tide_sight tide_plan_sight(const struct tide_plan *plan)
{
  bool maps = false, sees_blocks = false, is_known = false, misses = false;
  for (size_t i = 0; i < plan->n_patches; i++) {
    sees_blocks |= is_allocators(&plan->patches[i].entry);
    maps |= plan->patches[i].entry.role == TIDE_ROLE_MAP;
  }
  for (size_t i = 0; i < plan->n_refusals; i++) {
    is_known |= is_allocators(&plan->refusals[i].entry);
    misses |= is_missed(&plan->refusals[i].entry);
  }
  if (sees_blocks)
    return misses ? TIDE_SIGHT_PART : TIDE_SIGHT_ALL;
  return maps && !is_known ? TIDE_SIGHT_PAGES : TIDE_SIGHT_NOTHING;
}

void tide_plan_done(struct tide_plan *plan)
{
  free(plan->patches);
  free(plan->refusals);
  free(plan->regions);
  *plan = (struct tide_plan){0};
}
