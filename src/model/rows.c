// SPDX-License-Identifier: Apache-2.0
//
// See rows.h.
#include "model/rows.h"

#include "base/alloc.h"

#include <stdlib.h>

#define ROW_COLUMNS 5u

_Static_assert(TIDE_SITE_COLUMNS_N <= TIDE_COLUMNS_MOST, "a site is a row of columns");

static void pack_site(struct tide_columns *columns, const struct tide_site *site)
{
  uint64_t row[TIDE_SITE_COLUMNS_N];
  row[TIDE_SITE_COLUMN_STACK] = site->stack;
  row[TIDE_SITE_COLUMN_THREAD] = site->thread;
  memcpy(row + TIDE_SITE_COLUMN_COUNTERS, &site->counters, sizeof site->counters);
  row[TIDE_SITE_COLUMN_SIZES] = site->size_mask;
  row[TIDE_SITE_COLUMN_LIVES] = site->life_mask;
  row[TIDE_SITE_COLUMN_COUNTS] = site->first_count;
  tide_columns_add(columns, row);
}

struct tide_site tide_image_site_unpacked(const struct tide_image *image, size_t i)
{
  uint64_t row[TIDE_SITE_COLUMNS_N];
  tide_columns_block_row(tide_columns_block_of(image->packed_sites, i), i % TIDE_COLUMNS_BLOCK_ROWS,
                         0, TIDE_SITE_COLUMNS_N, row);
  struct tide_site site = {
      .stack = (uint32_t)row[TIDE_SITE_COLUMN_STACK],
      .thread = (uint32_t)row[TIDE_SITE_COLUMN_THREAD],
      .size_mask = (uint32_t)row[TIDE_SITE_COLUMN_SIZES],
      .life_mask = row[TIDE_SITE_COLUMN_LIVES],
      .first_count = (size_t)row[TIDE_SITE_COLUMN_COUNTS],
  };
  memcpy(&site.counters, row + TIDE_SITE_COLUMN_COUNTERS, sizeof site.counters);
  return site;
}

struct tide_site tide_image_site_spread(const struct tide_image *image, size_t i)
{
  if (!image->packed_sites)
    return image->sites[i];
  uint64_t row[3];
  tide_columns_block_row(tide_columns_block_of(image->packed_sites, i), i % TIDE_COLUMNS_BLOCK_ROWS,
                         TIDE_SITE_COLUMN_SIZES, 3, row);
  return (struct tide_site){
      .size_mask = (uint32_t)row[0], .life_mask = row[1], .first_count = (size_t)row[2]};
}

void tide_image_add_sites(struct tide_image *image, const struct tide_site *sites, size_t n)
{
  if (!image->packed_sites && image->n_sites + n < TIDE_ROWS_PACKED_FROM) {
    image->sites = tide_realloc_array(image->sites, image->n_sites + n, sizeof *image->sites);
    if (n)
      memcpy(image->sites + image->n_sites, sites, n * sizeof *sites);
    image->n_sites += n;
    return;
  }
  if (!image->packed_sites) {
    image->packed_sites = tide_columns_new(TIDE_SITE_COLUMNS_N);
    for (size_t i = 0; i < image->n_sites; i++)
      pack_site(image->packed_sites, &image->sites[i]);
    free(image->sites);
    image->sites = NULL;
  }
  for (size_t i = 0; i < n; i++)
    pack_site(image->packed_sites, &sites[i]);
  image->n_sites += n;
}

void tide_image_finish_sites(struct tide_image *image)
{
  if (image->packed_sites)
    tide_columns_finish(image->packed_sites);
}

static void pack_row(struct tide_columns *columns, const struct tide_snapshot_row *row)
{
  tide_columns_add(columns, (const uint64_t[ROW_COLUMNS]){row->stack, (uint64_t)row->live_bytes,
                                                          (uint64_t)row->live_blocks, row->n_alloc,
                                                          row->b_alloc});
}

struct tide_snapshot_row tide_snapshot_row_unpacked(const struct tide_snapshot *snapshot, size_t i)
{
  uint64_t row[ROW_COLUMNS];
  tide_columns_block_row(tide_columns_block_of(snapshot->packed, i), i % TIDE_COLUMNS_BLOCK_ROWS, 0,
                         ROW_COLUMNS, row);
  return (struct tide_snapshot_row){(uint32_t)row[0], (int64_t)row[1], (int64_t)row[2], row[3],
                                    row[4]};
}

size_t tide_snapshot_find(const struct tide_snapshot *snapshot, uint32_t stack)
{
  size_t low = 0, high = snapshot->n_rows;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (tide_snapshot_row_at(snapshot, middle).stack < stack)
      low = middle + 1;
    else
      high = middle;
  }
  bool is_there = low < snapshot->n_rows && tide_snapshot_row_at(snapshot, low).stack == stack;
  return is_there ? low : snapshot->n_rows;
}

int64_t tide_snapshot_row_live(const struct tide_snapshot *snapshot, size_t i, bool in_bytes)
{
  if (snapshot->packed)
    return (int64_t)tide_columns_get(snapshot->packed, i, in_bytes ? 1 : 2);
  return in_bytes ? snapshot->rows[i].live_bytes : snapshot->rows[i].live_blocks;
}

void tide_row_sink_add(struct tide_row_sink *sink, const struct tide_snapshot_row *row)
{
  if (!sink->packed && sink->n + 1 < TIDE_ROWS_PACKED_FROM) {
    TIDE_GROW(sink->rows, sink->n, sink->cap);
    sink->rows[sink->n++] = *row;
    return;
  }
  if (!sink->packed) {
    sink->packed = tide_columns_new(ROW_COLUMNS);
    for (size_t i = 0; i < sink->n; i++)
      pack_row(sink->packed, &sink->rows[i]);
    free(sink->rows);
    sink->rows = NULL;
  }
  pack_row(sink->packed, row);
  sink->n++;
}

void tide_row_sink_finish(struct tide_row_sink *sink, struct tide_snapshot *snapshot)
{
  tide_snapshot_done(snapshot);
  if (sink->packed)
    tide_columns_finish(sink->packed);
  else
    sink->rows = tide_realloc_array(sink->rows, sink->n, sizeof *sink->rows);
  snapshot->rows = sink->rows;
  snapshot->packed = sink->packed;
  snapshot->n_rows = sink->n;
  *sink = (struct tide_row_sink){0};
}

void tide_row_sink_done(struct tide_row_sink *sink)
{
  free(sink->rows);
  tide_columns_free(sink->packed);
  *sink = (struct tide_row_sink){0};
}

void tide_snapshot_done(struct tide_snapshot *snapshot)
{
  free(snapshot->rows);
  tide_columns_free(snapshot->packed);
  snapshot->rows = NULL;
  snapshot->packed = NULL;
  snapshot->n_rows = 0;
}
