// SPDX-License-Identifier: Apache-2.0
//
// See pprof_base.h. Two stacks are taken for one if their hashes of 64 bits are the same: of a
// million stacks that happens once in forty million profiles.
#include "export/pprof_base.h"

#include "base/alloc.h"
#include "base/lookup.h"

#include <stdlib.h>
#include <string.h>

enum { ALLOCATED, HELD, MEASURES_N, UNITS_N = 2 };

struct entry {
  uint64_t stack; // hash
  int64_t values[MEASURES_N][UNITS_N];
};

struct tide_pprof_base {
  struct entry *entries; // by rising stack
  size_t n;
  uint64_t allocated_bytes; // in all
  uint64_t end_ns;          // when it was taken
  bool is_reset;
};

// One per frame. A frame's parent comes before it.
static uint64_t *stack_hashes(const struct tide_image *image)
{
  uint64_t *hashes = tide_alloc_array(image->n_frames + 1, sizeof *hashes);
  uint64_t *files = tide_alloc_array(image->n_modules + 1, sizeof *files);
  for (size_t i = 0; i < image->n_modules; i++) {
    const char *path = image->modules[i].path ? image->modules[i].path : "";
    files[i] = tide_hash_bytes(image->modules[i].generation, path, strlen(path));
  }
  for (size_t i = 1; i < image->n_frames; i++) {
    const struct tide_frame *frame = &image->frames[i];
    uint64_t address = frame->pc - image->modules[frame->module].bias;
    uint64_t hash = tide_hash_word(hashes[frame->parent], files[frame->module]);
    hashes[i] = tide_hash_word(tide_hash_word(hash, address), frame->flags);
  }
  free(files);
  return hashes;
}

static int by_stack(const void *a, const void *b)
{
  uint64_t x = ((const struct entry *)a)->stack, y = ((const struct entry *)b)->stack;
  return x < y ? -1 : x > y;
}

static void weigh_stacks(const struct tide_profile *profile, enum tide_measure measure,
                         unsigned row, struct entry *entries)
{
  TIDE_CLEANUP_FREE int64_t *values = tide_alloc_array(profile->n_sites + 1, sizeof *values);
  for (unsigned unit = 0; unit < UNITS_N; unit++) {
    struct tide_question question = {.measure = measure,
                                     .unit = unit ? TIDE_UNIT_BYTES : TIDE_UNIT_BLOCKS};
    tide_profile_weigh(profile, &question, values);
    for (size_t i = 0; i < profile->n_sites; i++)
      entries[i].values[row][unit] = values[i];
  }
}

struct tide_pprof_base *tide_pprof_base_take(const struct tide_profile *profile)
{
  struct tide_pprof_base *base = tide_alloc(sizeof *base);
  uint64_t *hashes = stack_hashes(profile->image);
  base->n = profile->n_sites;
  base->allocated_bytes = profile->totals.b_alloc;
  base->end_ns = profile->image->end_ns;
  base->is_reset = profile->image->is_reset;
  base->entries = tide_alloc_array(base->n + 1, sizeof *base->entries);
  for (size_t i = 0; i < base->n; i++)
    base->entries[i].stack = hashes[profile->sites[i].stack];
  weigh_stacks(profile, TIDE_MEASURE_TOTAL, ALLOCATED, base->entries);
  weigh_stacks(profile, TIDE_MEASURE_LIVE, HELD, base->entries);
  qsort(base->entries, base->n, sizeof *base->entries, by_stack);
  free(hashes);
  return base;
}

void tide_pprof_base_free(struct tide_pprof_base *base)
{
  if (!base)
    return;
  free(base->entries);
  free(base);
}

// The numbers were reset between the two: all that was allocated since then is new. They begin
// then; of several processes, the first of them does.
static bool is_reset_since(const struct tide_pprof_base *base, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  return image->is_reset && (!base->is_reset || image->start_ns >= base->end_ns ||
                             profile->totals.b_alloc < base->allocated_bytes);
}

void tide_pprof_base_subtract(const struct tide_pprof_base *base,
                              const struct tide_profile *profile,
                              const struct tide_question *question, int64_t *values)
{
  unsigned row = question->measure == TIDE_MEASURE_TOTAL ? ALLOCATED : HELD;
  unsigned unit = question->unit == TIDE_UNIT_BYTES;
  bool is_allocated = row == ALLOCATED;
  if (is_allocated && is_reset_since(base, profile))
    return;
  uint64_t *hashes = stack_hashes(profile->image);
  for (size_t i = 0; i < profile->n_sites; i++) {
    struct entry key = {.stack = hashes[profile->sites[i].stack]};
    const struct entry *before =
        base->n ? bsearch(&key, base->entries, base->n, sizeof key, by_stack) : NULL;
    if (before)
      values[i] -= before->values[row][unit];
    // After a reset of some of several processes; never less than nothing.
    if (is_allocated && profile->image->is_reset && values[i] < 0)
      values[i] = 0;
  }
  free(hashes);
}
