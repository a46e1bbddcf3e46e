// SPDX-License-Identifier: Apache-2.0
//
// The timeline as a table: a row per moment, from the ticks or, where a filter leaves some stacks,
// from the snapshots. Counts are from the start up to that moment, as stats_alloc's users plot
// them, and a resize counts as a deallocation and an allocation as well. What is not known is an
// empty cell: by stack resizes are counted for the whole run, so of some stacks only the end has
// them.
#include "export/exports.h"

#include "base/alloc.h"
#include "report/profile_json.h"

#include <inttypes.h>

enum column {
  LIVE_BYTES,
  LIVE_BLOCKS,
  ALLOCATIONS,
  DEALLOCATIONS,
  REALLOCATIONS,
  BYTES_ALLOCATED,
  BYTES_DEALLOCATED,
  BYTES_REALLOCATED,
  RSS_BYTES,
  MAPPED_BYTES,
  COLUMNS_N,
};

static const char *const headings[COLUMNS_N] = {
    [LIVE_BYTES] = "live_bytes",
    [LIVE_BLOCKS] = "live_blocks",
    [ALLOCATIONS] = "allocations",
    [DEALLOCATIONS] = "deallocations",
    [REALLOCATIONS] = "reallocations",
    [BYTES_ALLOCATED] = "bytes_allocated",
    [BYTES_DEALLOCATED] = "bytes_deallocated",
    [BYTES_REALLOCATED] = "bytes_reallocated",
    [RSS_BYTES] = "rss_bytes",
    [MAPPED_BYTES] = "mapped_bytes",
};

struct row {
  uint64_t time_ns;
  uint32_t known; // bits of columns
  int64_t cells[COLUMNS_N];
};

static void set_cell(struct row *row, enum column column, int64_t value)
{
  row->cells[column] = value;
  row->known |= 1u << column;
}

static void write_row(struct tide_sink *sink, const struct tide_view *view, const struct row *row)
{
  const struct tide_image *image = view->profile->image;
  const struct tide_window *window = &view->profile->question.window;
  uint64_t time_ns = row->time_ns > image->start_ns ? row->time_ns - image->start_ns : 0;
  if ((window->from.given && time_ns < window->from.seen_ns) ||
      (window->to.given && time_ns > window->to.seen_ns))
    return;
  if (!(image->lacks & TIDE_LACK_CLOCK))
    tide_sink_printf(sink, "%" PRIu64 ".%09" PRIu64, time_ns / 1000000000, time_ns % 1000000000);
  for (int i = 0; i < COLUMNS_N; i++) {
    tide_sink_text(sink, ",");
    if (row->known & 1u << i)
      tide_sink_printf(sink, "%" PRId64, row->cells[i]);
  }
  tide_sink_text(sink, ",");
  tide_exactness_csv(sink, view->profile);
  tide_sink_text(sink, "\n");
}

static void set_freed_bytes(struct row *row, uint64_t b_alloc, int64_t live_bytes)
{
  if (live_bytes >= 0 && (uint64_t)live_bytes <= b_alloc)
    set_cell(row, BYTES_DEALLOCATED, (int64_t)(b_alloc - (uint64_t)live_bytes));
}

// At the end, of the stacks of the view.
static void set_resizes(struct row *row, const struct tide_view *view)
{
  const struct tide_profile *profile = view->profile;
  uint64_t n = 0, bytes = 0;
  for (size_t i = 0; i < profile->n_sites; i++)
    if (tide_view_has(view, i)) {
      n += TIDE_OF_SITE(&profile->sites[i], n_resize);
      bytes += TIDE_OF_SITE(&profile->sites[i], b_resize_new) -
               TIDE_OF_SITE(&profile->sites[i], b_resize_old);
    }
  if (!(profile->image->lacks & TIDE_LACK_RESIZES))
    set_cell(row, REALLOCATIONS, (int64_t)n);
  if (profile->image->has_resized_bytes)
    set_cell(row, BYTES_REALLOCATED, (int64_t)bytes);
}

static void write_ticks(struct tide_sink *sink, const struct tide_view *view)
{
  const struct tide_image *image = view->profile->image;
  bool has_totals = !(image->lacks & TIDE_LACK_TOTAL),
       has_blocks = !(image->lacks & TIDE_LACK_BLOCKS);
  for (size_t i = 0; i < image->n_ticks; i++) {
    const struct tide_tick *tick = &image->ticks[i];
    struct row row = {.time_ns = tick->time_ns};
    set_cell(&row, LIVE_BYTES, tick->live_bytes);
    if (has_blocks)
      set_cell(&row, LIVE_BLOCKS, tick->live_blocks);
    if (has_totals && has_blocks) {
      set_cell(&row, ALLOCATIONS, (int64_t)tick->n_alloc);
      set_cell(&row, DEALLOCATIONS, (int64_t)tick->n_free);
    }
    if (has_totals) {
      set_cell(&row, BYTES_ALLOCATED, (int64_t)tick->b_alloc);
      set_freed_bytes(&row, tick->b_alloc, tick->live_bytes);
    }
    if (tick->rss_bytes)
      set_cell(&row, RSS_BYTES, (int64_t)tick->rss_bytes);
    if (!image->origin)
      set_cell(&row, MAPPED_BYTES, tick->page_bytes);
    if (image->has_tick_resizes) {
      set_cell(&row, REALLOCATIONS, (int64_t)tick->n_resize);
      set_cell(&row, BYTES_REALLOCATED, tick->b_resized);
    } else if (i + 1 == image->n_ticks) {
      set_resizes(&row, view);
    }
    write_row(sink, view, &row);
  }
}

struct counts { // allocated up to a snapshot, by the stacks of the view
  uint64_t n, bytes;
};

static void add_counts(struct counts *counts, const struct tide_snapshot *snapshot,
                       const uint8_t *wanted)
{
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row row = tide_snapshot_row_at(snapshot, i);
    if (wanted[row.stack]) {
      counts->n += row.n_alloc;
      counts->bytes += row.b_alloc;
    }
  }
}

static void write_snapshot(struct tide_sink *sink, const struct tide_view *view, size_t idx,
                           const uint8_t *wanted, struct counts *counts)
{
  const struct tide_image *image = view->profile->image;
  const struct tide_snapshot *snapshot = &image->snapshots[idx];
  struct row row = {.time_ns = snapshot->time_ns};
  uint64_t bytes = 0, blocks = 0;
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row live = tide_snapshot_row_at(snapshot, i);
    if (wanted[live.stack]) {
      bytes += (uint64_t)live.live_bytes;
      blocks += (uint64_t)live.live_blocks;
    }
  }
  set_cell(&row, LIVE_BYTES, (int64_t)bytes);
  if (!(image->lacks & TIDE_LACK_BLOCKS))
    set_cell(&row, LIVE_BLOCKS, (int64_t)blocks);
  add_counts(counts, snapshot, wanted);
  if (image->has_counts && snapshot->kind != TIDE_SNAPSHOT_PEAK) {
    set_cell(&row, ALLOCATIONS, (int64_t)counts->n);
    set_cell(&row, DEALLOCATIONS, (int64_t)(counts->n - blocks));
    set_cell(&row, BYTES_ALLOCATED, (int64_t)counts->bytes);
    set_freed_bytes(&row, counts->bytes, (int64_t)bytes);
  }
  if (snapshot->kind == TIDE_SNAPSHOT_END)
    set_resizes(&row, view);
  write_row(sink, view, &row);
}

static void write_snapshots(struct tide_sink *sink, const struct tide_view *view)
{
  const struct tide_profile *profile = view->profile;
  struct counts counts = {0};
  TIDE_CLEANUP_FREE uint8_t *wanted = tide_alloc_array(profile->image->n_frames, 1);
  for (size_t i = 0; i < profile->n_sites; i++)
    if (tide_view_has(view, i))
      wanted[profile->sites[i].stack] = 1;
  for (size_t i = 0; i < profile->image->n_snapshots; i++)
    write_snapshot(sink, view, i, wanted, &counts);
}

enum tide_err tide_timeline_csv_write(struct tide_sink *sink, struct tide_view *view,
                                      const struct tide_export_options *options,
                                      struct tide_diag *diag)
{
  const struct tide_image *image = view->profile->image;
  bool by_tick = image->n_ticks && !view->unwanted;
  if (!by_tick && !image->n_snapshots)
    return tide_fail_hint(diag, TIDE_ERR_UNSUPPORTED, TIDE_HINT_TABLE,
                          "the csv export is a timeline, which this capture does not hold");
  tide_sink_text(sink, "time_s");
  for (int i = 0; i < COLUMNS_N; i++)
    tide_sink_printf(sink, ",%s", headings[i]);
  tide_sink_text(sink, ",exactness\n");
  if (by_tick)
    write_ticks(sink, view);
  else
    write_snapshots(sink, view);
  return TIDE_ERR_OK;
}
