// SPDX-License-Identifier: Apache-2.0
//
// Sums per node of the trie; modulo 2^64, since they come from a file.
#include "profile/kept.h"

#include "base/alloc.h"

static bool is_peak(const struct tide_image *image, const struct tide_point *point)
{
  return point->given && point->snapshot != TIDE_POINT_START &&
         image->snapshots[point->snapshot].kind == TIDE_SNAPSHOT_PEAK;
}

bool tide_kept_is_known(const struct tide_image *image, const struct tide_window *window)
{
  return image->has_late_frees && !is_peak(image, &window->from) && !is_peak(image, &window->to);
}

static void add_kept_at(const struct tide_image *image, const struct tide_point *point,
                        bool in_bytes, uint64_t sign, uint64_t *of_node)
{
  if (!point->given || point->snapshot == TIDE_POINT_START)
    return;
  const struct tide_snapshot *snapshot = &image->snapshots[point->snapshot];
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row *row = &snapshot->rows[i];
    of_node[row->stack] += sign * (uint64_t)(in_bytes ? row->live_bytes : row->live_blocks);
  }
  for (size_t i = 0; i < image->n_late_frees; i++) {
    const struct tide_late_free *late = &image->late_frees[i];
    if (late->born <= point->snapshot && late->freed > point->snapshot)
      of_node[late->stack] -= sign * (in_bytes ? late->bytes : late->n_blocks);
  }
}

void tide_kept_weigh(const struct tide_profile *profile, const struct tide_question *question,
                     int64_t *ret_weights)
{
  const struct tide_image *image = profile->image;
  bool in_bytes = question->unit == TIDE_UNIT_BYTES;
  TIDE_CLEANUP_FREE uint64_t *of_node = tide_alloc_array(image->n_frames, sizeof *of_node);
  add_kept_at(image, &question->window.to, in_bytes, 1, of_node);
  add_kept_at(image, &question->window.from, in_bytes, UINT64_MAX, of_node);
  for (size_t i = 0; i < profile->n_sites; i++)
    ret_weights[i] = (int64_t)of_node[profile->sites[i].stack];
}
