// SPDX-License-Identifier: Apache-2.0
//
// The rows of an image's sites and snapshots, one by one, however they are kept: plainly, by those
// who make them, or packed (model/columns.h), as the reader of files does where there are many.
#pragma once
#include "model/columns.h"
#include "model/model.h"

// From so many on, rows that are read from a file are packed.
#define TIDE_ROWS_PACKED_FROM 4096u

// The columns of a site: its stack and thread, the counters in their order, and its histograms.
#define TIDE_COUNTERS_N (sizeof(struct tide_counters) / sizeof(uint64_t))
enum {
  TIDE_SITE_COLUMN_STACK,
  TIDE_SITE_COLUMN_THREAD,
  TIDE_SITE_COLUMN_COUNTERS,
  TIDE_SITE_COLUMN_SIZES = TIDE_SITE_COLUMN_COUNTERS + TIDE_COUNTERS_N,
  TIDE_SITE_COLUMN_LIVES,
  TIDE_SITE_COLUMN_COUNTS,
  TIDE_SITE_COLUMNS_N,
};

struct tide_site tide_image_site_unpacked(const struct tide_image *image, size_t i);
// Of a site only its histograms.
struct tide_site tide_image_site_spread(const struct tide_image *image, size_t i);
struct tide_snapshot_row tide_snapshot_row_unpacked(const struct tide_snapshot *snapshot, size_t i);

static inline struct tide_site tide_image_site(const struct tide_image *image, size_t i)
{
  return image->packed_sites ? tide_image_site_unpacked(image, i) : image->sites[i];
}

static inline uint32_t tide_image_site_stack(const struct tide_image *image, size_t i)
{
  return image->packed_sites
             ? (uint32_t)tide_columns_get(image->packed_sites, i, TIDE_SITE_COLUMN_STACK)
             : image->sites[i].stack;
}

// One number of a site.
#define TIDE_COUNTER_IDX(field) (offsetof(struct tide_counters, field) / sizeof(uint64_t))
static inline uint64_t tide_image_site_number(const struct tide_image *image, size_t i,
                                              unsigned counter_idx)
{
  if (image->packed_sites)
    return tide_columns_get(image->packed_sites, i, TIDE_SITE_COLUMN_COUNTERS + counter_idx);
  uint64_t number;
  memcpy(&number, (const uint64_t *)&image->sites[i].counters + counter_idx, sizeof number);
  return number;
}

static inline struct tide_snapshot_row tide_snapshot_row_at(const struct tide_snapshot *snapshot,
                                                            size_t i)
{
  return snapshot->packed ? tide_snapshot_row_unpacked(snapshot, i) : snapshot->rows[i];
}

static inline uint32_t tide_snapshot_row_stack(const struct tide_snapshot *snapshot, size_t i)
{
  return snapshot->packed ? (uint32_t)tide_columns_get(snapshot->packed, i, 0)
                          : snapshot->rows[i].stack;
}

// Where the row of a stack is; n_rows: it has none.
size_t tide_snapshot_find(const struct tide_snapshot *snapshot, uint32_t stack);

// What was live of it, in bytes or in blocks.
int64_t tide_snapshot_row_live(const struct tide_snapshot *snapshot, size_t i, bool in_bytes);

// Puts sites behind those of an image, whose rows nobody reads before they are finished. They are
// copied.
void tide_image_add_sites(struct tide_image *image, const struct tide_site *sites, size_t n);
void tide_image_finish_sites(struct tide_image *image);

// A snapshot's rows, one behind another; zeroed at first. To give up in the middle: done().
struct tide_row_sink {
  struct tide_snapshot_row *rows;
  struct tide_columns *packed;
  size_t n, cap;
};
void tide_row_sink_add(struct tide_row_sink *sink, const struct tide_snapshot_row *row);
// They become the snapshot's, in place of those it had.
void tide_row_sink_finish(struct tide_row_sink *sink, struct tide_snapshot *snapshot);
void tide_row_sink_done(struct tide_row_sink *sink);
void tide_snapshot_done(struct tide_snapshot *snapshot); // frees its rows
