// SPDX-License-Identifier: Apache-2.0
//
// One run at a time is told, as blocks come by address. Classes are few, so they are looked for one
// by one, the latest first.
#include "residence/runs.h"

#include "base/alloc.h"

enum {
  MAX_SLAB_CLASS = 14336, // of jemalloc's small blocks
  MAX_PAGE_CLASS = 8192,  // in mimalloc's small pages, whichever version
  PAGE_BYTES = 65536,     // of these
  MAX_CLASSES = 64,       // there are no more of either
};

static uint64_t rounded_up(uint64_t value, uint64_t step)
{
  return (value + step - 1) / step * step;
}

// A quarter of a doubling.
static uint64_t class_step(uint64_t size)
{
  return UINT64_C(1) << (61 - __builtin_clzll(size - 1));
}

static uint64_t class_of(uint64_t size)
{
  if (size <= 8)
    return 8;
  return size <= 128 ? rounded_up(size, 16) : rounded_up(size, class_step(size));
}

static struct tide_run_at slab_of(uint64_t block, uint64_t size, uint64_t page)
{
  uint64_t class = class_of(size), bytes = page, lo = block;
  struct tide_run_at alone = {block / page * page, rounded_up(block + class, page), 0, 0};
  if (class > MAX_SLAB_CLASS)
    return alone;
  while (bytes % class)
    bytes += page;
  while (lo & (page - 1) && block - lo < bytes)
    lo -= class;
  return lo & (page - 1) ? alone : (struct tide_run_at){lo, lo + bytes, class, bytes / class};
}

static struct tide_run_at small_page_of(uint64_t block, uint64_t size, uint64_t page)
{
  uint64_t class = class_of(size), lo = block / PAGE_BYTES * PAGE_BYTES;
  if (class > MAX_PAGE_CLASS)
    return (struct tide_run_at){block / page * page, rounded_up(block + class, page), 0, 0};
  uint64_t offset = (block - lo) % class; // of the first block
  return (struct tide_run_at){lo, lo + PAGE_BYTES, class, (PAGE_BYTES - offset) / class};
}

struct tide_run_at tide_run_of(enum tide_runs_layout layout, uint64_t block, uint64_t size,
                               uint64_t page)
{
  return layout == TIDE_RUNS_MIMALLOC ? small_page_of(block, size, page)
                                      : slab_of(block, size, page);
}

static struct tide_residence_class *class_row(struct tide_residence *to, uint64_t bytes)
{
  for (size_t i = to->n_classes; i > 0; i--)
    if (to->classes[i - 1].block_bytes == bytes)
      return &to->classes[i - 1];
  if (to->n_classes == MAX_CLASSES)
    return NULL;
  TIDE_GROW(to->classes, to->n_classes, to->cap_classes);
  to->classes[to->n_classes] = (struct tide_residence_class){.block_bytes = bytes};
  return &to->classes[to->n_classes++];
}

// Whose survivors keep a run that is mostly free: the site that has most of them, of several the
// first.
static void tell_keeper(struct tide_runs *runs, uint64_t free_bytes)
{
  size_t most = 0;
  for (size_t i = 1; i < runs->n_sites; i++)
    most = runs->sites[i].n > runs->sites[most].n ? i : most;
  struct tide_residence_site *site = &runs->to->sites[runs->sites[most].site];
  runs->to->n_shared_runs += runs->n_sites > 1;
  site->n_sparse++;
  site->sparse += free_bytes;
}

static void tell_run(struct tide_runs *runs)
{
  const struct tide_run_at *now = &runs->now;
  uint64_t resident = tide_space_resident(runs->space, now->lo, now->hi);
  uint64_t used = runs->n_live * now->class, free_bytes = resident > used ? resident - used : 0;
  uint64_t quarter = 4 * runs->n_live / now->n_slots; // full: 4
  struct tide_residence_class *row = class_row(runs->to, now->class);
  if (!row || runs->n_live > now->n_slots) {
    runs->to->n_unclear_runs++;
    return;
  }
  row->n_runs++;
  row->n_blocks += runs->n_live;
  row->n_slots += now->n_slots;
  row->resident += resident;
  row->free += free_bytes;
  row->quarters[quarter < 4 ? quarter : 3]++;
  if (quarter < 2) {
    row->sparse += free_bytes;
    tell_keeper(runs, free_bytes);
  }
}

void tide_runs_end(struct tide_runs *runs)
{
  if (runs->now.class && !runs->is_unclear)
    tell_run(runs);
  else if (runs->now.class)
    runs->to->n_unclear_runs++;
  runs->now = (struct tide_run_at){0};
}

static void count_block(struct tide_runs *runs, uint32_t site)
{
  size_t i = 0;
  runs->n_live++;
  while (i < runs->n_sites && runs->sites[i].site != site)
    i++;
  if (i == TIDE_RUN_SITES)
    return;
  if (i == runs->n_sites) {
    runs->sites[runs->n_sites++].n = 0;
    runs->sites[i].site = site;
  }
  runs->sites[i].n++;
}

static void begin_run(struct tide_runs *runs, const struct tide_run_at *at,
                      const struct tide_recorded_block *block)
{
  bool overlaps = runs->now.class && at->class && at->lo < runs->now.hi;
  runs->is_unclear |= overlaps;
  tide_runs_end(runs);
  runs->now = *at;
  runs->first = block->lo;
  runs->n_live = runs->n_sites = 0;
  runs->is_unclear = overlaps;
  count_block(runs, block->site);
}

void tide_runs_pass(struct tide_runs *runs, const struct tide_recorded_block *block)
{
  if (runs->layout == TIDE_RUNS_NONE)
    return;
  uint64_t size = block->hi - block->lo, class = runs->now.class;
  if (!class || block->lo >= runs->now.hi) {
    struct tide_run_at at = tide_run_of(runs->layout, block->lo, size, runs->space->page_bytes);
    begin_run(runs, &at, block);
    return;
  }
  // Where the run of each block begins was looked for before: most of what a look at redis cost.
  runs->is_unclear |= class_of(size) != class || (block->lo - runs->first) % class;
  count_block(runs, block->site);
}
