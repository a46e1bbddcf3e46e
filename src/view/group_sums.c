// SPDX-License-Identifier: Apache-2.0
//
// Sums. What a thread did to the blocks of one stack is a row of the image; a free is booked to the
// thread that freed. Histograms hold counts: by class nothing but allocations is known.
#include "view/group_sums.h"

#include "base/alloc.h"

#include <string.h>

struct tide_group tide_group_none(void)
{
  return (struct tide_group){.first_ns = UINT64_MAX};
}

static void add_times(struct tide_group *sum, uint64_t first_ns, uint64_t last_ns)
{
  sum->first_ns = first_ns < sum->first_ns ? first_ns : sum->first_ns;
  sum->last_ns = last_ns > sum->last_ns ? last_ns : sum->last_ns;
}

void tide_group_add(struct tide_group *sum, const struct tide_group *item)
{
  sum->measure += item->measure;
  sum->n_alloc += item->n_alloc;
  sum->b_alloc += item->b_alloc;
  sum->n_free += item->n_free;
  sum->b_free += item->b_free;
  sum->n_temp += item->n_temp;
  sum->b_temp += item->b_temp;
  sum->n_foreign += item->n_foreign;
  sum->n_resize += item->n_resize;
  sum->b_resize_old += item->b_resize_old;
  sum->n_moved += item->n_moved;
  sum->b_moved += item->b_moved;
  sum->live_blocks += item->live_blocks;
  sum->live_bytes += item->live_bytes;
  sum->peak_blocks += item->peak_blocks;
  sum->peak_bytes += item->peak_bytes;
  sum->life_ns_sum += item->life_ns_sum;
  sum->live_age_ns_sum += item->live_age_ns_sum;
  sum->n_stacks += item->n_stacks;
  add_times(sum, item->first_ns, item->last_ns);
}

void tide_group_add_site(struct tide_group *sum, const struct tide_profile_site *site)
{
  const struct tide_group item = {
      .measure = site->weight,
      .n_alloc = site->n_alloc,
      .b_alloc = site->b_alloc,
      .n_free = site->n_free,
      .b_free = site->b_free,
      .n_temp = site->n_temp,
      .b_temp = site->b_temp,
      .n_foreign = site->n_foreign,
      .n_resize = site->n_resize,
      .b_resize_old = site->b_resize_old,
      .n_moved = site->n_moved,
      .b_moved = site->b_moved,
      .live_blocks = site->live_blocks,
      .live_bytes = site->live_bytes,
      .peak_blocks = site->peak_blocks,
      .peak_bytes = site->peak_bytes,
      .life_ns_sum = site->life_ns_sum,
      .live_age_ns_sum = site->live_age_ns_sum,
      .first_ns = site->n_alloc ? site->first_ns : UINT64_MAX,
      .last_ns = site->last_ns,
      .n_stacks = 1,
  };
  tide_group_add(sum, &item);
}

// A row weighs what its stack does, less the other threads' rows.
static void add_row(struct tide_group *sum, const struct tide_site *row,
                    const struct tide_question *question)
{
  struct tide_profile_site site = {
      .n_alloc = row->n_alloc,
      .b_alloc = row->b_alloc,
      .n_free = row->n_free,
      .b_free = row->b_free,
      .live_blocks = (int64_t)(row->n_alloc - row->n_free),
      .live_bytes = (int64_t)(row->b_alloc - row->b_free),
      .peak_blocks = row->peak_blocks,
      .peak_bytes = row->peak_bytes,
      .life_ns_sum = row->life_ns_sum,
      .live_age_ns_sum = row->live_age_ns_sum,
      .n_temp = row->n_temp,
      .b_temp = row->b_temp,
      .n_foreign = row->n_foreign,
      .n_resize = row->n_resize,
      .b_resize_old = row->b_resize_old,
      .n_moved = row->n_moved,
      .b_moved = row->b_moved,
      .first_ns = row->first_ns,
      .last_ns = row->n_alloc ? row->last_ns : 0,
  };
  site.weight = tide_profile_weight(&site, question);
  tide_group_add_site(sum, &site);
}

// The classes of one stack's allocations. Lifetimes of what was freed are a histogram; what a
// resize took over was freed without one.
static void add_classes(struct tide_groups *groups, const struct tide_profile *profile,
                        const struct tide_profile_site *site)
{
  uint64_t sizes[TIDE_SIZE_BUCKETS_N], lives[TIDE_LIFE_BUCKETS_N];
  uint64_t classes[TIDE_LIFE_CLASSES_N] = {0}, n_ended = 0;
  tide_profile_site_histograms(profile, site, sizes, lives);
  for (unsigned k = 0; k < TIDE_LIFE_BUCKETS_N; k++) {
    bool shortest = k < TIDE_LIFE_CLASS_SHORTEST;
    classes[shortest ? 0 : 1 + (k - TIDE_LIFE_CLASS_SHORTEST) / TIDE_LIFE_CLASS_BUCKETS] +=
        lives[k];
    n_ended += lives[k];
  }
  classes[TIDE_LIFE_CLASS_RESIZED] = site->n_free > n_ended ? site->n_free - n_ended : 0;
  classes[TIDE_LIFE_CLASS_LIVE] = site->live_blocks > 0 ? (uint64_t)site->live_blocks : 0;
  const uint64_t *counts = groups->kind == TIDE_GROUP_SIZE ? sizes : classes;
  for (size_t k = 0; k < groups->n; k++) {
    groups->items[k].n_alloc += counts[k];
    groups->items[k].measure += (int64_t)counts[k];
    groups->items[k].n_stacks += counts[k] != 0;
  }
}

static void add_threads(struct tide_groups *groups, const struct tide_profile *profile,
                        const struct tide_profile_site *site)
{
  for (uint32_t i = 0; i < site->n_rows; i++) {
    const struct tide_site *row = &profile->image->sites[profile->rows[site->first_row + i]];
    add_row(&groups->items[row->thread], row, &profile->question);
    groups->is_net |= row->n_foreign != 0;
  }
}

// Groups of nothing are left out.
static void compact(struct tide_groups *groups)
{
  size_t out = 0;
  for (size_t i = 0; i < groups->n; i++)
    if (groups->items[i].measure)
      groups->items[out++] = groups->items[i];
  groups->n = out;
}

void tide_groups_from_rows(struct tide_groups *groups, const struct tide_view *view)
{
  const struct tide_profile *profile = view->profile;
  groups->n = groups->kind == TIDE_GROUP_SIZE       ? TIDE_SIZE_BUCKETS_N
              : groups->kind == TIDE_GROUP_LIFETIME ? TIDE_LIFE_CLASSES_N
              : profile->image->n_threads_known     ? profile->image->n_threads_known
                                                    : 1;
  groups->items = tide_alloc_array(groups->n + 1, sizeof *groups->items);
  for (uint32_t i = 0; i < groups->n; i++) {
    groups->items[i] = tide_group_none();
    groups->items[i].number = i;
  }
  for (size_t i = 0; i < profile->n_sites; i++) {
    if (!tide_view_has(view, i))
      continue;
    groups->n_stacks += profile->sites[i].weight > 0;
    if (groups->kind == TIDE_GROUP_THREAD)
      add_threads(groups, profile, &profile->sites[i]);
    else
      add_classes(groups, profile, &profile->sites[i]);
  }
  groups->n_stacks_placed = groups->n_stacks;
  compact(groups);
}

enum tide_err tide_groups_check(enum tide_group_kind kind, const struct tide_image *image,
                                const struct tide_question *question, struct tide_diag *diag)
{
  static const uint32_t needs[TIDE_GROUPS_N] = {
      [TIDE_GROUP_THREAD] = TIDE_LACK_THREADS,
      [TIDE_GROUP_SIZE] = TIDE_LACK_SIZE_HIST,
      [TIDE_GROUP_LIFETIME] = TIDE_LACK_LIFE_HIST,
  };
  if (image->lacks & needs[kind])
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "%s holds nothing by %s; try --group function, file, crate or module",
                     image->origin ? image->origin : "the capture", tide_group_words[kind]);
  bool of_part = question->window.from.given || question->window.to.given;
  bool counts = question->measure == TIDE_MEASURE_TOTAL && question->unit == TIDE_UNIT_BLOCKS;
  if (kind == TIDE_GROUP_THREAD && of_part)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "threads are told apart over the whole run only; leave out --at and --range");
  if ((kind != TIDE_GROUP_SIZE && kind != TIDE_GROUP_LIFETIME) || (counts && !of_part))
    return TIDE_ERR_OK;
  return tide_fail(diag, TIDE_ERR_USAGE,
                   "a capture counts allocations by %s and nothing else: --group %s goes with "
                   "--sort count over the whole run",
                   tide_group_words[kind], tide_group_words[kind]);
}

void tide_groups_histograms(const struct tide_groups *groups, const struct tide_profile *profile,
                            size_t group_idx, uint64_t ret_sizes[TIDE_SIZE_BUCKETS_N],
                            uint64_t ret_lifetimes[TIDE_LIFE_BUCKETS_N])
{
  memset(ret_sizes, 0, TIDE_SIZE_BUCKETS_N * sizeof *ret_sizes);
  memset(ret_lifetimes, 0, TIDE_LIFE_BUCKETS_N * sizeof *ret_lifetimes);
  if (!groups->sites)
    return;
  for (size_t i = groups->first[group_idx]; i < groups->first[group_idx + 1]; i++) {
    uint64_t sizes[TIDE_SIZE_BUCKETS_N], lives[TIDE_LIFE_BUCKETS_N];
    tide_profile_site_histograms(profile, &profile->sites[groups->sites[i]], sizes, lives);
    for (unsigned k = 0; k < TIDE_SIZE_BUCKETS_N; k++)
      ret_sizes[k] += sizes[k];
    for (unsigned k = 0; k < TIDE_LIFE_BUCKETS_N; k++)
      ret_lifetimes[k] += lives[k];
  }
}
