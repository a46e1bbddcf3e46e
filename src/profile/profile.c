// SPDX-License-Identifier: Apache-2.0
//
// From rows per (stack, thread) to sites per stack. Rows are sorted by stack through an index, so
// a profile of 100,000 stacks is two passes over the rows and costs what the rows cost.
#include "profile/profile.h"

#include "base/alloc.h"
#include "capture/buckets.h"
#include "capture/stored_names.h"

#include <stdlib.h>
#include <string.h>

// parent < own index, so one pass tells for every node under which root it hangs.
static uint8_t *kinds_of_nodes(const struct tide_image *image)
{
  uint8_t *kinds = tide_alloc_array(image->n_frames, 1);
  for (size_t i = 1; i < image->n_frames; i++) {
    uint16_t flags = image->frames[i].flags;
    kinds[i] = flags & TIDE_FRAME_PAGES  ? TIDE_SITE_PAGES
               : flags & TIDE_FRAME_LOST ? TIDE_SITE_LOST
                                         : kinds[image->frames[i].parent];
  }
  return kinds;
}

// Row indexes grouped by stack: a counting sort, linear and stable.
static uint32_t *rows_by_stack(const struct tide_image *image)
{
  TIDE_CLEANUP_FREE uint32_t *start = tide_alloc_array(image->n_frames + 1, sizeof *start);
  uint32_t *rows = tide_alloc_array(image->n_sites, sizeof *rows);
  for (size_t i = 0; i < image->n_sites; i++)
    start[image->sites[i].stack + 1]++;
  for (size_t i = 0; i < image->n_frames; i++)
    start[i + 1] += start[i];
  for (size_t i = 0; i < image->n_sites; i++)
    rows[start[image->sites[i].stack]++] = (uint32_t)i;
  return rows;
}

static void add_row(struct tide_profile_site *site, const struct tide_site *row)
{
  site->n_alloc += row->n_alloc;
  site->b_alloc += row->b_alloc;
  site->n_free += row->n_free;
  site->b_free += row->b_free;
  site->peak_blocks += row->peak_blocks;
  site->peak_bytes += row->peak_bytes;
  if (row->high_bytes > 0)
    site->own_max_bytes += row->high_bytes;
  site->life_ns_sum += row->life_ns_sum;
  site->live_age_ns_sum += row->live_age_ns_sum;
  site->n_temp += row->n_temp;
  site->n_foreign += row->n_foreign;
  site->n_resize += row->n_resize;
  site->n_moved += row->n_moved;
  site->b_temp += row->b_temp;
  site->b_resize_old += row->b_resize_old;
  site->b_resize_new += row->b_resize_new;
  site->b_moved += row->b_moved;
  if (row->n_alloc && site->first_ns > row->first_ns)
    site->first_ns = row->first_ns;
  if (row->n_alloc && site->last_ns < row->last_ns)
    site->last_ns = row->last_ns;
  site->n_rows++;
}

static void finish_site(struct tide_profile_site *site, const struct tide_image *image)
{
  site->live_blocks = (int64_t)(site->n_alloc - site->n_free);
  site->live_bytes = (int64_t)(site->b_alloc - site->b_free);
  if ((int64_t)site->live_age_ns_sum < 0) // rows are rounded each by itself
    site->live_age_ns_sum = 0;
  if (site->n_alloc == 0)
    site->first_ns = 0;
  int64_t most = site->kind == TIDE_SITE_PAGES ? image->page_peak_bytes : image->peak_bytes;
  if (site->n_rows > 1 && site->own_max_bytes > most)
    site->own_max_bytes = most;
}

static void add_totals(struct tide_profile_totals *totals, const struct tide_profile_site *site)
{
  totals->n_alloc += site->n_alloc;
  totals->b_alloc += site->b_alloc;
  totals->n_free += site->n_free;
  totals->b_free += site->b_free;
  totals->n_resize += site->n_resize;
  totals->n_moved += site->n_moved;
  totals->n_temp += site->n_temp;
  totals->b_temp += site->b_temp;
  totals->b_resize_old += site->b_resize_old;
  totals->b_resize_new += site->b_resize_new;
  totals->b_moved += site->b_moved;
  totals->n_foreign += site->n_foreign;
  totals->live_blocks += site->live_blocks;
  totals->live_bytes += site->live_bytes;
}

static void make_sites(struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  TIDE_CLEANUP_FREE uint8_t *kinds = kinds_of_nodes(image);
  size_t cap = 0;
  struct tide_profile_site *site = NULL;
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site *row = &image->sites[profile->rows[i]];
    if (!site || site->stack != row->stack) {
      TIDE_GROW(profile->sites, profile->n_sites, cap);
      site = &profile->sites[profile->n_sites++];
      *site = (struct tide_profile_site){
          .stack = row->stack,
          .kind = kinds[row->stack],
          .first_row = (uint32_t)i,
          .first_ns = UINT64_MAX,
      };
    }
    add_row(site, row);
  }
  for (size_t i = 0; i < profile->n_sites; i++) {
    site = &profile->sites[i];
    finish_site(site, image);
    if (site->kind != TIDE_SITE_PAGES)
      add_totals(&profile->totals, site);
    if (site->kind == TIDE_SITE_LOST)
      add_totals(&profile->lost, site);
    profile->n_stacks += site->kind == TIDE_SITE_HEAP;
  }
}

struct tide_profile *tide_profile_new(const struct tide_capture *capture, size_t image_idx)
{
  struct tide_profile *profile = tide_alloc(sizeof *profile);
  profile->capture = capture;
  profile->image = &capture->images[image_idx];
  profile->image_idx = image_idx;
  profile->rows = rows_by_stack(profile->image);
  make_sites(profile);
  return profile;
}

void tide_profile_free(struct tide_profile *profile)
{
  if (!profile)
    return;
  free(profile->sites);
  free(profile->rows);
  free(profile);
}

void tide_profile_site_histograms(const struct tide_profile *profile,
                                  const struct tide_profile_site *site,
                                  uint64_t ret_sizes[TIDE_SIZE_BUCKETS_N],
                                  uint64_t ret_lifetimes[TIDE_LIFE_BUCKETS_N])
{
  memset(ret_sizes, 0, TIDE_SIZE_BUCKETS_N * sizeof *ret_sizes);
  memset(ret_lifetimes, 0, TIDE_LIFE_BUCKETS_N * sizeof *ret_lifetimes);
  for (uint32_t i = 0; i < site->n_rows; i++) {
    const struct tide_site *row = &profile->image->sites[profile->rows[site->first_row + i]];
    tide_site_sum_buckets(profile->image, row, ret_sizes, ret_lifetimes);
  }
}

uint64_t tide_profile_n_ended(const struct tide_image *image, uint64_t n_free,
                              const uint64_t lifetimes[TIDE_LIFE_BUCKETS_N])
{
  uint64_t n = 0;
  for (unsigned k = 0; k < TIDE_LIFE_BUCKETS_N; k++)
    n += lifetimes[k];
  return image->lacks & TIDE_LACK_LIFE_HIST ? n_free : n;
}

bool tide_profile_own_max_is_bound(const struct tide_profile *profile,
                                   const struct tide_profile_site *site)
{
  return site->n_rows > 1 || tide_image_is_merged(profile->image);
}

uint64_t tide_profile_events(const struct tide_profile *profile)
{
  return profile->totals.n_alloc + profile->totals.n_free;
}

double tide_profile_overhead(const struct tide_profile *profile)
{
  struct tide_cost cost = profile->capture->cost;
  if (!profile->capture->has_cost)
    cost = (struct tide_cost){profile->image->cpu_ns, profile->image->recorder_ns, 0};
  if (!cost.recorder_ns || cost.recorder_ns >= cost.cpu_ns)
    return 0;
  return ((double)cost.cpu_ns + (double)cost.supervisor_ns) /
         (double)(cost.cpu_ns - cost.recorder_ns);
}

uint64_t tide_profile_unknown_frames(const struct tide_image *image)
{
  const uint16_t no_frame = TIDE_FRAME_CUT | TIDE_FRAME_PAGES | TIDE_FRAME_LOST;
  uint64_t n = 0;
  for (size_t i = 1; i < image->n_frames; i++) {
    const struct tide_frame *frame = &image->frames[i];
    const struct tide_stored_frame *name;
    uint64_t pc = frame->flags & TIDE_FRAME_IS_EXACT ? frame->pc : frame->pc - 1;
    n += frame->module == 0 && !(frame->flags & no_frame) &&
         !tide_stored_names_find(&image->names, 0, pc, &name);
  }
  return n;
}

uint64_t tide_profile_allocations(const struct tide_image *image)
{
  TIDE_CLEANUP_FREE uint8_t *kinds = kinds_of_nodes(image);
  uint64_t n = 0;
  for (size_t i = 0; i < image->n_sites; i++)
    n += kinds[image->sites[i].stack] == TIDE_SITE_PAGES ? 0 : image->sites[i].n_alloc;
  return n;
}
