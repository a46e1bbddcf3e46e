// SPDX-License-Identifier: Apache-2.0
//
// Snapshots list what was live by time; here they are turned round and listed by stack, as offsets
// into one array: eight bytes for each row, two passes, no sorting, because rows come by time.
#include "profile/timeline.h"

#include "base/alloc.h"

#include <stdlib.h>

static bool is_live(const struct tide_snapshot_row *row)
{
  return row->live_bytes > 0 || row->live_blocks > 0;
}

// Counts the points of each stack into first[stack + 1], and adds them up.
static size_t *find_firsts(const struct tide_image *image)
{
  size_t *first = tide_alloc_array(image->n_frames + 1, sizeof *first);
  for (size_t s = 0; s < image->n_snapshots; s++)
    for (size_t i = 0; i < image->snapshots[s].n_rows; i++)
      if (is_live(&image->snapshots[s].rows[i]))
        first[image->snapshots[s].rows[i].stack + 1]++;
  for (size_t i = 0; i < image->n_frames; i++)
    first[i + 1] += first[i];
  return first;
}

static struct tide_timeline_point *find_points(const struct tide_image *image, const size_t *first)
{
  struct tide_timeline_point *points = tide_alloc_array(first[image->n_frames], sizeof *points);
  TIDE_CLEANUP_FREE size_t *next = tide_alloc_array(image->n_frames, sizeof *next);
  for (size_t i = 0; i < image->n_frames; i++)
    next[i] = first[i];
  for (size_t s = 0; s < image->n_snapshots; s++)
    for (size_t i = 0; i < image->snapshots[s].n_rows; i++) {
      const struct tide_snapshot_row *row = &image->snapshots[s].rows[i];
      if (is_live(row))
        points[next[row->stack]++] = (struct tide_timeline_point){(uint32_t)s, (uint32_t)i};
    }
  return points;
}

struct tide_timeline *tide_timeline_new(const struct tide_image *image)
{
  struct tide_timeline *timeline = tide_alloc(sizeof *timeline);
  timeline->image = image;
  timeline->n_times = image->n_snapshots;
  timeline->times_ns = tide_alloc_array(image->n_snapshots, sizeof *timeline->times_ns);
  for (size_t i = 0; i < image->n_snapshots; i++)
    timeline->times_ns[i] = image->snapshots[i].time_ns;
  timeline->first = find_firsts(image);
  timeline->points = find_points(image, timeline->first);
  return timeline;
}

void tide_timeline_free(struct tide_timeline *timeline)
{
  if (!timeline)
    return;
  free(timeline->times_ns);
  free(timeline->first);
  free(timeline->points);
  free(timeline);
}

static int64_t value_at(const struct tide_timeline *timeline, size_t point, enum tide_unit unit)
{
  const struct tide_timeline_point *p = &timeline->points[point];
  const struct tide_snapshot_row *row = &timeline->image->snapshots[p->snapshot].rows[p->row];
  int64_t value = unit == TIDE_UNIT_BYTES ? row->live_bytes : row->live_blocks;
  return value > 0 ? value : 0;
}

// Unsigned: numbers of a damaged file may add up to anything.
static void add_wrapping(int64_t *sum, int64_t more)
{
  *sum = (int64_t)((uint64_t)*sum + (uint64_t)more);
}

// From the last snapshot back, as long as the stack is in each: where it is not, nothing of what
// came before was kept.
static void add_kept(const struct tide_timeline *timeline, uint32_t stack, enum tide_unit unit,
                     int64_t *kept)
{
  size_t from = timeline->first[stack], point = timeline->first[stack + 1];
  int64_t least = INT64_MAX;
  for (size_t s = timeline->n_times; s > 0 && point > from && least > 0; s--) {
    if (timeline->points[--point].snapshot != s - 1)
      return;
    int64_t value = value_at(timeline, point, unit);
    least = value < least ? value : least;
    add_wrapping(&kept[s - 1], least);
  }
}

void tide_timeline_sum(const struct tide_timeline *timeline, const uint32_t *stacks,
                       size_t n_stacks, enum tide_unit unit, int64_t *ret_live, int64_t *ret_kept)
{
  for (size_t i = 0; i < timeline->n_times; i++)
    ret_live[i] = ret_kept[i] = 0;
  for (size_t i = 0; i < n_stacks; i++) {
    const size_t *first = &timeline->first[stacks[i]];
    for (size_t point = first[0]; point < first[1]; point++)
      add_wrapping(&ret_live[timeline->points[point].snapshot], value_at(timeline, point, unit));
    if (!(timeline->image->lacks & TIDE_LACK_LIVE)) // or nobody knows
      add_kept(timeline, stacks[i], unit, ret_kept);
  }
}

size_t tide_column_of(const struct tide_image *image, uint64_t time_ns, size_t width)
{
  if (time_ns <= image->start_ns)
    return 0;
  if (time_ns >= image->end_ns)
    return width - 1;
  double share = (double)(time_ns - image->start_ns) / (double)(image->end_ns - image->start_ns);
  size_t column = (size_t)(share * (double)width);
  return column < width ? column : width - 1;
}

static void raise_to(int64_t *value, int64_t least)
{
  *value = *value > least ? *value : least;
}

void tide_columns_highest(const uint64_t *times_ns, const int64_t *values, size_t n,
                          const struct tide_image *image, size_t width, int64_t *ret_columns)
{
  for (size_t i = 0; i < width; i++)
    ret_columns[i] = 0;
  int64_t last = 0;
  size_t filled = 0;
  for (size_t i = 0; i < n && width; i++) {
    size_t column = tide_column_of(image, times_ns[i], width);
    while (filled < column)
      raise_to(&ret_columns[++filled], last);
    last = values[i];
    raise_to(&ret_columns[column], last);
  }
  while (filled + 1 < width)
    raise_to(&ret_columns[++filled], last);
}

void tide_timeline_columns(const struct tide_timeline *timeline, const int64_t *curve, size_t width,
                           int64_t *ret_columns)
{
  tide_columns_highest(timeline->times_ns, curve, timeline->n_times, timeline->image, width,
                       ret_columns);
}
