// SPDX-License-Identifier: Apache-2.0
//
// Sums over an image's sites: by stack for a snapshot, by kind for the totals. Unsigned, because
// the sites may come from a damaged store.
#define _GNU_SOURCE
#include "model/image_sums.h"

#include "base/alloc.h"
#include "model/pack.h"

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
  uint64_t resized = 0;
  if (image->pack) {
    *ret_sums = image->pack->sums;
    return;
  }
  TIDE_CLEANUP_FREE uint16_t *root = tide_image_root_flags(image);
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site *site = &image->sites[i];
    if (root[site->stack] & TIDE_FRAME_PAGES)
      continue;
    sums.n_alloc += site->n_alloc;
    sums.b_alloc += site->b_alloc;
    sums.n_free += site->n_free;
    sums.b_free += site->b_free;
    sums.n_resize += site->n_resize;
    resized += site->b_resize_new - site->b_resize_old;
  }
  sums.live_blocks = (int64_t)(sums.n_alloc - sums.n_free);
  sums.live_bytes = (int64_t)(sums.b_alloc - sums.b_free);
  sums.resized_bytes = (int64_t)resized;
  *ret_sums = sums;
}

void tide_image_settle_peak(struct tide_image *image)
{
  if (image->origin || image->is_part || image->lacks & TIDE_LACK_PEAK)
    return;
  uint64_t sum = 0;
  TIDE_CLEANUP_FREE uint16_t *root = tide_image_root_flags(image);
  for (size_t i = 0; i < image->n_sites; i++)
    if (!(root[image->sites[i].stack] & TIDE_FRAME_PAGES))
      sum += (uint64_t)image->sites[i].peak_bytes;
  uint64_t told = (uint64_t)image->peak_bytes;
  image->peak_bytes = (int64_t)sum;
  image->peak_bound_bytes += (int64_t)(sum - told) < 0 ? told - sum : sum - told;
}

// A row for each stack that has a site, by rising stack. Most frames are no stack of their own.
struct stack_rows {
  uint32_t *row_of; // per frame, of those with a row: its index + 1; else 0
  struct tide_snapshot_row *rows;
  size_t n;
};

static struct stack_rows stack_rows_new(const struct tide_image *image)
{
  struct stack_rows all = {.row_of = tide_alloc_array(image->n_frames, sizeof *all.row_of)};
  for (size_t i = 0; i < image->n_sites; i++)
    all.row_of[image->sites[i].stack] = 1;
  for (size_t i = 0; i < image->n_frames; i++)
    if (all.row_of[i])
      all.row_of[i] = (uint32_t)++all.n;
  all.rows = tide_alloc_array(all.n, sizeof *all.rows);
  for (size_t i = 0; i < image->n_frames; i++)
    if (all.row_of[i])
      all.rows[all.row_of[i] - 1].stack = (uint32_t)i;
  return all;
}

static struct tide_snapshot_row *row_of(const struct stack_rows *all, uint32_t stack)
{
  return all->row_of[stack] ? &all->rows[all->row_of[stack] - 1] : NULL;
}

static void add_wrapping(int64_t *sum, uint64_t more)
{
  *sum = (int64_t)((uint64_t)*sum + more);
}

// Takes away what a snapshot has counted already. Never below zero: a broken store may have had
// other numbers when it was looked at.
static void take_off(uint64_t *sum, uint64_t counted)
{
  *sum -= counted < *sum ? counted : *sum;
}

// A snapshot of the rows that say anything; takes over all of them.
static struct tide_snapshot snapshot_of(struct stack_rows *all, enum tide_snapshot_kind kind,
                                        uint64_t time_ns)
{
  struct tide_snapshot_row *rows = all->rows;
  struct tide_snapshot snapshot = {.time_ns = time_ns, .kind = kind};
  free(all->row_of);
  for (size_t i = 0; i < all->n; i++)
    if (rows[i].live_bytes || rows[i].live_blocks || rows[i].n_alloc || rows[i].b_alloc)
      rows[snapshot.n_rows++] = rows[i];
  snapshot.rows = tide_realloc_array(rows, snapshot.n_rows, sizeof *rows);
  return snapshot;
}

static struct tide_snapshot peak_snapshot(const struct tide_image *image)
{
  struct stack_rows all = stack_rows_new(image);
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site *site = &image->sites[i];
    struct tide_snapshot_row *row = row_of(&all, site->stack);
    add_wrapping(&row->live_bytes, (uint64_t)site->peak_bytes);
    add_wrapping(&row->live_blocks, (uint64_t)site->peak_blocks);
  }
  return snapshot_of(&all, TIDE_SNAPSHOT_PEAK, image->peak_ns);
}

// Counts whatever no other snapshot has counted.
static struct tide_snapshot end_snapshot(const struct tide_image *image)
{
  struct stack_rows all = stack_rows_new(image);
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site *site = &image->sites[i];
    struct tide_snapshot_row *row = row_of(&all, site->stack);
    add_wrapping(&row->live_bytes, site->b_alloc - site->b_free);
    add_wrapping(&row->live_blocks, site->n_alloc - site->n_free);
    row->n_alloc += site->n_alloc;
    row->b_alloc += site->b_alloc;
  }
  for (size_t i = 0; i < image->n_snapshots; i++)
    for (size_t k = 0; k < image->snapshots[i].n_rows; k++) {
      const struct tide_snapshot_row *counted = &image->snapshots[i].rows[k];
      if (counted->stack >= image->n_frames)
        continue; // a broken store has fewer nodes than before
      struct tide_snapshot_row *row = row_of(&all, counted->stack);
      if (!row)
        continue; // or fewer cells
      take_off(&row->n_alloc, counted->n_alloc);
      take_off(&row->b_alloc, counted->b_alloc);
    }
  return snapshot_of(&all, TIDE_SNAPSHOT_END, image->end_ns);
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
  image->snapshots =
      tide_realloc_array(image->snapshots, image->n_snapshots + 2, sizeof *image->snapshots);
  struct tide_snapshot end = end_snapshot(image);
  if (!(image->lacks & TIDE_LACK_PEAK))
    insert(image, peak_snapshot(image));
  if (!(image->lacks & TIDE_LACK_LIVE))
    insert(image, end);
  else
    free(end.rows);
  image->has_counts = true;
}

// ---- rows of a snapshot ----
//
// Merging sorted rows. Sums are unsigned and may wrap: they come from files and stores.

// The stack at a position of a list, or one after all others behind its end.
static uint32_t stack_at(const struct tide_snapshot_row *rows, size_t n, size_t i)
{
  return i < n ? rows[i].stack : UINT32_MAX;
}

void tide_snapshot_add_counts(struct tide_snapshot *snapshot,
                              const struct tide_snapshot_row *counts, size_t n_counts)
{
  if (n_counts == 0)
    return;
  struct tide_snapshot_row *rows = tide_alloc_array(snapshot->n_rows + n_counts, sizeof *rows);
  size_t n = 0, old = 0, more = 0;
  while (old < snapshot->n_rows || more < n_counts) {
    uint32_t own = stack_at(snapshot->rows, snapshot->n_rows, old);
    uint32_t other = stack_at(counts, n_counts, more);
    struct tide_snapshot_row row = {.stack = other};
    if (own <= other)
      row = snapshot->rows[old++];
    if (other <= own) {
      row.n_alloc += counts[more].n_alloc;
      row.b_alloc += counts[more++].b_alloc;
    }
    if (row.live_bytes || row.live_blocks || row.n_alloc || row.b_alloc)
      rows[n++] = row;
  }
  free(snapshot->rows);
  snapshot->rows = tide_realloc_array(rows, n, sizeof *rows);
  snapshot->n_rows = n;
}

// ---- what a format had ----

#define AT(field) offsetof(struct tide_numbers, field)

bool tide_number_is_kept(const struct tide_number *number, const struct tide_image *image)
{
  bool is_kept = true;
#define TIDE_NUMBER(field, ...)                                                                    \
  if (number->at == AT(field))                                                                     \
    return is_kept;
#define TIDE_NUMBER_SINCE(flag) is_kept = image->flag;
#include "model/numbers.def"
  return true;
}
