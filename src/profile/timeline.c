// SPDX-License-Identifier: Apache-2.0
//
// Snapshots list what was live by time; here they are turned round and listed by stack, as offsets
// into one array: eight bytes for each row, two passes, no sorting, because rows come by time.
#include "profile/timeline.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "model/rows.h"

#include <stdlib.h>

static bool is_live(const struct tide_snapshot *snapshot, size_t row)
{
  return tide_snapshot_row_live(snapshot, row, true) > 0 ||
         tide_snapshot_row_live(snapshot, row, false) > 0;
}

struct wish {
  const struct tide_image *image;
  const uint8_t *stacks; // per frame, whether it is asked for; NULL: all are
};

// Counts the points of each stack into first[stack + 1], and adds them up.
static size_t *find_firsts(const struct wish *wish)
{
  const struct tide_image *image = wish->image;
  size_t *first = tide_alloc_array(image->n_frames + 1, sizeof *first);
  for (size_t s = 0; s < image->n_snapshots; s++) {
    const struct tide_snapshot *snapshot = &image->snapshots[s];
    for (size_t i = 0; i < snapshot->n_rows; i++) {
      uint32_t stack = tide_snapshot_row_stack(snapshot, i);
      if ((!wish->stacks || wish->stacks[stack]) && is_live(snapshot, i))
        first[stack + 1]++;
    }
  }
  for (size_t i = 0; i < image->n_frames; i++)
    first[i + 1] += first[i];
  return first;
}

static struct tide_timeline_point *find_points(const struct wish *wish, const size_t *first)
{
  const struct tide_image *image = wish->image;
  struct tide_timeline_point *points = tide_alloc_array(first[image->n_frames], sizeof *points);
  TIDE_CLEANUP_FREE size_t *next = tide_alloc_array(image->n_frames, sizeof *next);
  for (size_t i = 0; i < image->n_frames; i++)
    next[i] = first[i];
  for (size_t s = 0; s < image->n_snapshots; s++) {
    const struct tide_snapshot *snapshot = &image->snapshots[s];
    for (size_t i = 0; i < snapshot->n_rows; i++) {
      uint32_t stack = tide_snapshot_row_stack(snapshot, i);
      if ((!wish->stacks || wish->stacks[stack]) && is_live(snapshot, i))
        points[next[stack]++] = (struct tide_timeline_point){(uint32_t)s, (uint32_t)i};
    }
  }
  return points;
}

struct tide_timeline *tide_timeline_new(const struct tide_image *image, const uint32_t *stacks,
                                        size_t n_stacks)
{
  struct tide_timeline *timeline = tide_alloc(sizeof *timeline);
  TIDE_CLEANUP_FREE uint8_t *wanted = stacks ? tide_alloc_array(image->n_frames + 1, 1) : NULL;
  const struct wish wish = {image, wanted};
  for (size_t i = 0; wanted && i < n_stacks; i++)
    wanted[stacks[i]] = 1;
  timeline->image = image;
  timeline->n_times = image->n_snapshots;
  timeline->times_ns = tide_alloc_array(image->n_snapshots, sizeof *timeline->times_ns);
  for (size_t i = 0; i < image->n_snapshots; i++)
    timeline->times_ns[i] = image->snapshots[i].time_ns;
  timeline->first = find_firsts(&wish);
  timeline->points = find_points(&wish, timeline->first);
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
  const struct tide_snapshot *snapshot = &timeline->image->snapshots[p->snapshot];
  int64_t value = tide_snapshot_row_live(snapshot, p->row, unit == TIDE_UNIT_BYTES);
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
    ret_live[i] = 0;
  for (size_t i = 0; ret_kept && i < timeline->n_times; i++)
    ret_kept[i] = 0;
  for (size_t i = 0; i < n_stacks; i++) {
    const size_t *first = &timeline->first[stacks[i]];
    for (size_t point = first[0]; point < first[1]; point++)
      add_wrapping(&ret_live[timeline->points[point].snapshot], value_at(timeline, point, unit));
    if (ret_kept && !(timeline->image->lacks & TIDE_LACK_LIVE)) // or nobody knows
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

// ---- when it was allocated ----
//
// Of blocks held at a moment, those born in an interval are what was live at its end beyond what
// was live at its beginning, with what went in it of older blocks put back, less those that were
// freed later, up to the moment.

static bool is_peak(const struct tide_image *image, size_t snapshot)
{
  return image->snapshots[snapshot].kind == TIDE_SNAPSHOT_PEAK;
}

// Late frees up to the moment, by the interval of birth: a counting sort.
static void sort_late_frees(struct tide_births *births)
{
  const struct tide_image *image = births->image;
  size_t *first = tide_alloc_array(image->n_snapshots + 2, sizeof *first), n = 0;
  for (size_t i = 0; i < image->n_late_frees; i++)
    if (image->late_frees[i].freed < births->past) {
      first[image->late_frees[i].born + 2]++;
      n++;
    }
  for (size_t s = 2; s < image->n_snapshots + 2; s++)
    first[s] += first[s - 1];
  births->late_of = tide_alloc_array(n + 1, sizeof *births->late_of);
  for (size_t i = 0; i < image->n_late_frees; i++)
    if (image->late_frees[i].freed < births->past)
      births->late_of[first[image->late_frees[i].born + 1]++] = (uint32_t)i;
  births->first_late = first;
}

// What is held is held at a moment: where none is said, at the end, which need not be the last.
static size_t past_of_held(const struct tide_image *image, const struct tide_births *births,
                           const struct tide_question *question)
{
  for (size_t s = births->first; s < births->past && !question->window.to.given; s++)
    if (image->snapshots[s].kind == TIDE_SNAPSHOT_END)
      return s + 1;
  return question->window.to.given ? births->past : births->first;
}

static bool is_known(const struct tide_births *births, const struct tide_question *question)
{
  const struct tide_image *image = births->image;
  const struct tide_point *from = &question->window.from;
  if (question->measure == TIDE_MEASURE_LEAK && question->window.to.given)
    return false; // held at the end, but not all that was
  switch (question->measure) {
  case TIDE_MEASURE_TOTAL: return image->has_counts;
  case TIDE_MEASURE_LIVE:
  case TIDE_MEASURE_LEAK:
  case TIDE_MEASURE_GROWN:
    return image->has_late_frees && image->n_late_frees <= UINT32_MAX &&
           !is_peak(image, births->past - 1) &&
           !(from->given && from->snapshot != TIDE_POINT_START && is_peak(image, from->snapshot));
  default: return false;
  }
}

bool tide_births_init(struct tide_births *births, const struct tide_image *image,
                      const struct tide_question *question)
{
  *births = (struct tide_births){.image = image,
                                 .in_bytes = question->unit == TIDE_UNIT_BYTES,
                                 .of_held = question->measure != TIDE_MEASURE_TOTAL};
  size_t n = 0;
  tide_window_snapshots(image, &question->window, &births->first, &births->past);
  if (births->of_held)
    births->past = past_of_held(image, births, question);
  for (size_t s = births->first; s < births->past; s++)
    n += !is_peak(image, s);
  if (n < 2 || !is_known(births, question))
    return false;
  if (births->of_held)
    sort_late_frees(births);
  return true;
}

void tide_births_done(struct tide_births *births)
{
  free(births->first_late);
  free(births->late_of);
  *births = (struct tide_births){0};
}

struct adding {
  const uint8_t *wanted;
  uint64_t *sums, all;
};

static void add_birth(struct adding *to, uint32_t stack, uint64_t value)
{
  if (!to->wanted[stack])
    return;
  to->sums[stack] += value;
  to->all += value;
}

// What was live at a snapshot, or the same taken away: a sign of 1 or -1.
static void add_live(const struct tide_births *births, size_t snapshot, uint64_t sign,
                     struct adding *to)
{
  const struct tide_snapshot *s = &births->image->snapshots[snapshot];
  for (size_t i = 0; i < s->n_rows; i++) {
    const struct tide_snapshot_row row = tide_snapshot_row_at(s, i);
    int64_t live = births->in_bytes ? row.live_bytes : row.live_blocks;
    add_birth(to, row.stack, sign * (uint64_t)live);
  }
}

static uint64_t late_amount(const struct tide_births *births, const struct tide_late_free *late)
{
  return births->in_bytes ? late->bytes : late->n_blocks;
}

// They are in order of freeing: the first that went in the interval before a snapshot, or later.
static size_t first_freed(const struct tide_image *image, size_t snapshot)
{
  return TIDE_FIRST_NOT_BELOW(image->late_frees, image->n_late_frees, freed, snapshot);
}

static void add_held(const struct tide_births *births, size_t snapshot, struct adding *to)
{
  const struct tide_image *image = births->image;
  size_t before = snapshot;
  while (before > 0 && is_peak(image, before - 1))
    before--;
  add_live(births, snapshot, 1, to);
  if (before > 0)
    add_live(births, before - 1, UINT64_MAX, to);
  for (size_t i = first_freed(image, snapshot);
       i < image->n_late_frees && image->late_frees[i].freed == snapshot; i++)
    add_birth(to, image->late_frees[i].stack, late_amount(births, &image->late_frees[i]));
  for (size_t i = births->first_late[snapshot]; i < births->first_late[snapshot + 1]; i++) {
    const struct tide_late_free *late = &image->late_frees[births->late_of[i]];
    add_birth(to, late->stack, 0 - late_amount(births, late));
  }
}

uint64_t tide_births_add(const struct tide_births *births, size_t snapshot, const uint8_t *wanted,
                         uint64_t *sums)
{
  const struct tide_snapshot *s = &births->image->snapshots[snapshot];
  struct adding to = {wanted, sums, 0};
  if (s->kind == TIDE_SNAPSHOT_PEAK)
    return 0;
  if (births->of_held)
    add_held(births, snapshot, &to);
  for (size_t i = 0; i < s->n_rows && !births->of_held; i++) {
    const struct tide_snapshot_row row = tide_snapshot_row_at(s, i);
    add_birth(&to, row.stack, births->in_bytes ? row.b_alloc : row.n_alloc);
  }
  return to.all;
}
