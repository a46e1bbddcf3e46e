// SPDX-License-Identifier: Apache-2.0
//
// Which image of a capture is meant.
#include "profile/completeness.h"

#include <errno.h>
#include <stdlib.h>

// The image with the largest peak among those of a pid. n_images when there is none.
static size_t largest(const struct tide_capture *capture, uint64_t pid)
{
  size_t best = capture->n_images;
  for (size_t i = 0; i < capture->n_images; i++) {
    if (capture->images[i].pid != pid)
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
    struct tide_lead lead;
    tide_lead_find(capture, &lead);
    *ret_image_idx = lead.image_idx;
    return TIDE_ERR_OK;
  }
  const char *digits = which[0] == '#' ? which + 1 : which;
  char *end;
  errno = 0;
  unsigned long long number = strtoull(digits, &end, 10);
  if (*digits < '0' || *digits > '9' || *end || errno)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "a process is told by its pid or an index such as #1, not by \"%s\"", which);
  size_t by_pid = number && digits == which ? largest(capture, number) : capture->n_images;
  size_t found = by_pid < capture->n_images ? by_pid : (size_t)number;
  if (found >= capture->n_images)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                     "the capture holds no process %s; 'tidemark info' lists its %zu", which,
                     capture->n_images);
  *ret_image_idx = found;
  return TIDE_ERR_OK;
}
