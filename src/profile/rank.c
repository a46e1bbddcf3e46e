// SPDX-License-Identifier: Apache-2.0
//
// Which image, and in which order its sites: the two choices a report starts with.
#define _GNU_SOURCE
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>

const char *const tide_rank_words[TIDE_RANKS_N] = {
    [TIDE_RANK_PEAK] = "peak",   [TIDE_RANK_LIVE] = "live", [TIDE_RANK_TOTAL] = "total",
    [TIDE_RANK_COUNT] = "count", [TIDE_RANK_TEMP] = "temp", [TIDE_RANK_LEAK] = "leak",
};

int64_t tide_profile_measure(const struct tide_profile_site *site, enum tide_rank rank)
{
  switch (rank) {
  case TIDE_RANK_PEAK: return site->peak_bytes;
  case TIDE_RANK_LIVE:
  case TIDE_RANK_LEAK: return site->live_bytes;
  case TIDE_RANK_TOTAL: return (int64_t)site->b_alloc;
  case TIDE_RANK_COUNT: return (int64_t)site->n_alloc;
  case TIDE_RANK_TEMP: return (int64_t)site->n_temp;
  case TIDE_RANKS_N: break;
  }
  return 0;
}

int64_t tide_profile_whole(const struct tide_profile *profile, enum tide_rank rank)
{
  const struct tide_profile_totals *totals = &profile->totals;
  switch (rank) {
  case TIDE_RANK_PEAK: return profile->image->peak_bytes;
  case TIDE_RANK_LIVE:
  case TIDE_RANK_LEAK: return totals->live_bytes;
  case TIDE_RANK_TOTAL: return (int64_t)totals->b_alloc;
  case TIDE_RANK_COUNT: return (int64_t)totals->n_alloc;
  case TIDE_RANK_TEMP: return (int64_t)totals->n_temp;
  case TIDE_RANKS_N: break;
  }
  return 0;
}

static int falling(int64_t a, int64_t b)
{
  return (a < b) - (a > b);
}

static int compare(const void *left, const void *right, void *rank)
{
  const struct tide_profile_site *a = left, *b = right;
  int order = (a->kind == TIDE_SITE_PAGES) - (b->kind == TIDE_SITE_PAGES);
  if (!order)
    order = falling(tide_profile_measure(a, *(enum tide_rank *)rank),
                    tide_profile_measure(b, *(enum tide_rank *)rank));
  if (!order)
    order = falling((int64_t)a->b_alloc, (int64_t)b->b_alloc);
  if (!order)
    order = falling((int64_t)a->n_alloc, (int64_t)b->n_alloc);
  return order ? order : (a->stack > b->stack) - (a->stack < b->stack);
}

void tide_profile_rank(struct tide_profile *profile, enum tide_rank rank)
{
  if (profile->n_sites)
    qsort_r(profile->sites, profile->n_sites, sizeof *profile->sites, compare, &rank);
}

// The image with the largest peak among those of a pid (0: of all). n_images when there is none.
static size_t largest(const struct tide_capture *capture, uint64_t pid)
{
  size_t best = capture->n_images;
  for (size_t i = 0; i < capture->n_images; i++) {
    if (pid && capture->images[i].pid != pid)
      continue;
    if (best == capture->n_images ||
        capture->images[i].peak_bytes > capture->images[best].peak_bytes)
      best = i;
  }
  return best;
}

enum tide_err tide_profile_pick(const struct tide_capture *capture, const char *which,
                                size_t *ret_image_idx, struct tide_diag *diag)
{
  if (capture->n_images == 0)
    return tide_fail(diag, TIDE_ERR_EMPTY, "the capture holds no process");
  if (!which) {
    *ret_image_idx = largest(capture, 0);
    return TIDE_ERR_OK;
  }
  const char *digits = which[0] == '#' ? which + 1 : which;
  char *end;
  errno = 0;
  unsigned long long number = strtoull(digits, &end, 10);
  if (*digits < '0' || *digits > '9' || *end || errno)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "--process takes a pid or an index such as #1, not \"%s\"", which);
  size_t by_pid = number && digits == which ? largest(capture, number) : capture->n_images;
  size_t found = by_pid < capture->n_images ? by_pid : (size_t)number;
  if (found >= capture->n_images)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                     "the capture holds no process %s; 'tidemark info' lists its %zu", which,
                     capture->n_images);
  *ret_image_idx = found;
  return TIDE_ERR_OK;
}
