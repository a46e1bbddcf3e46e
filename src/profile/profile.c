// SPDX-License-Identifier: Apache-2.0
//
// From rows per (stack, thread) to sites per stack. Rows are sorted by stack through an index, so
// a profile of 100,000 stacks is two passes over the rows and costs what the rows cost.
#include "profile/profile.h"

#include "base/alloc.h"
#include "model/buckets.h"
#include "model/stored_names.h"

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
  tide_counters_add(&site->counters, &row->counters);
  site->n_rows++;
}

static void finish_site(struct tide_profile_site *site, const struct tide_image *image)
{
  tide_numbers_live(&site->numbers);
  if (site->age_ns < 0) // rows are rounded each by itself
    site->age_ns = 0;
  int64_t most = site->kind == TIDE_SITE_PAGES ? image->page_peak_bytes : image->peak_bytes;
  if (site->n_rows > 1 && site->high_bytes > most)
    site->high_bytes = most;
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
      };
    }
    add_row(site, row);
  }
  for (size_t i = 0; i < profile->n_sites; i++) {
    site = &profile->sites[i];
    finish_site(site, image);
    if (site->kind != TIDE_SITE_PAGES)
      tide_numbers_add(&profile->totals, &site->numbers);
    if (site->kind == TIDE_SITE_LOST)
      tide_numbers_add(&profile->lost, &site->numbers);
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
