// SPDX-License-Identifier: Apache-2.0
//
// Sums over an image's sites: by stack for a snapshot, by kind for the totals. Unsigned, because
// the sites may come from a damaged store.
#define _GNU_SOURCE
#include "capture/image_sums.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define ROOT_FLAGS (TIDE_FRAME_PAGES | TIDE_FRAME_LOST)

uint16_t *tide_image_root_flags(const struct tide_image *image)
{
  uint16_t *flags = tide_alloc_array(image->n_frames, sizeof *flags);
  for (size_t i = 1; i < image->n_frames; i++) {
    const struct tide_frame *frame = &image->frames[i];
    flags[i] = frame->parent ? flags[frame->parent] : frame->flags & ROOT_FLAGS;
  }
  return flags;
}

void tide_image_heap_sums(const struct tide_image *image, struct tide_image_sums *ret_sums)
{
  struct tide_image_sums sums = {0};
  TIDE_CLEANUP_FREE uint16_t *root = tide_image_root_flags(image);
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site *site = &image->sites[i];
    if (root[site->stack] & TIDE_FRAME_PAGES)
      continue;
    sums.n_alloc += site->n_alloc;
    sums.b_alloc += site->b_alloc;
    sums.n_free += site->n_free;
    sums.b_free += site->b_free;
  }
  sums.live_blocks = (int64_t)(sums.n_alloc - sums.n_free);
  sums.live_bytes = (int64_t)(sums.b_alloc - sums.b_free);
  *ret_sums = sums;
}

struct stack_sum {
  uint64_t bytes, blocks; // modulo 2^64, signed in meaning
};

static void image_snapshot(const struct tide_image *image, enum tide_snapshot_kind kind,
                           struct tide_snapshot *ret_snapshot)
{
  TIDE_CLEANUP_FREE struct stack_sum *sums = tide_alloc_array(image->n_frames, sizeof *sums);
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site *site = &image->sites[i];
    bool peak = kind == TIDE_SNAPSHOT_PEAK;
    sums[site->stack].bytes += peak ? (uint64_t)site->peak_bytes : site->b_alloc - site->b_free;
    sums[site->stack].blocks += peak ? (uint64_t)site->peak_blocks : site->n_alloc - site->n_free;
  }
  size_t n = 0;
  for (size_t i = 0; i < image->n_frames; i++)
    n += sums[i].bytes || sums[i].blocks;
  *ret_snapshot = (struct tide_snapshot){
      .time_ns = kind == TIDE_SNAPSHOT_PEAK ? image->peak_ns : image->end_ns,
      .kind = kind,
      .rows = tide_alloc_array(n, sizeof *ret_snapshot->rows),
  };
  for (size_t i = 0; i < image->n_frames; i++)
    if (sums[i].bytes || sums[i].blocks)
      ret_snapshot->rows[ret_snapshot->n_rows++] =
          (struct tide_snapshot_row){(uint32_t)i, (int64_t)sums[i].bytes, (int64_t)sums[i].blocks};
}

static void insert(struct tide_image *image, struct tide_snapshot snapshot)
{
  size_t at = image->n_snapshots;
  while (at > 0 && image->snapshots[at - 1].time_ns > snapshot.time_ns)
    at--;
  struct tide_snapshot *place = &image->snapshots[at];
  memmove(place + 1, place, (image->n_snapshots - at) * sizeof *place);
  *place = snapshot;
  image->n_snapshots++;
}

void tide_image_add_exact_snapshots(struct tide_image *image)
{
  struct tide_snapshot peak, end;
  image_snapshot(image, TIDE_SNAPSHOT_PEAK, &peak);
  image_snapshot(image, TIDE_SNAPSHOT_END, &end);
  image->snapshots =
      tide_realloc_array(image->snapshots, image->n_snapshots + 2, sizeof *image->snapshots);
  insert(image, peak);
  insert(image, end);
}
