// SPDX-License-Identifier: Apache-2.0
//
// Snapshots: taken, thinned out, and at last told in the image's terms.
//
// Memory follows what happened: a stack that did nothing between two snapshots has no row there,
// however much it holds. In an image it has one, so what an image would cost is counted along.
#define _GNU_SOURCE
#include "observe/sample.h"

#include "base/alloc.h"
#include "model/pack.h"
#include "observe/clock.h"

#include <stdlib.h>
#include <string.h>

static uint32_t last_interval(const struct tide_sampler *sampler)
{
  return sampler->n_snapshots ? sampler->snapshots[sampler->n_snapshots - 1].interval : 0;
}

static int64_t at_least_zero(uint64_t sum)
{
  return (int64_t)sum > 0 ? (int64_t)sum : 0;
}

static void note_stack(struct tide_sampler *sampler, uint32_t stack)
{
  uint64_t *word = &sampler->is_stack[stack / 64], bit = UINT64_C(1) << stack % 64;
  sampler->n_stacks += !(*word & bit);
  *word |= bit;
}

static void take_change(void *context, uint32_t cell, uint32_t stack, uint32_t interval,
                        const struct tide_tally *more)
{
  struct tide_sampler *sampler = context;
  note_stack(sampler, stack);
  if (sampler->before && !sampler->walked && interval <= sampler->reset_interval)
    tide_before_add(sampler->before, cell, sampler->kinds[stack] != TIDE_SITE_PAGES, more);
  if (sampler->walked || interval > last_interval(sampler)) {
    // Cells and stacks were mostly made in the same order.
    if (stack >= sampler->rising.next) {
      tide_sample_rows_put(&sampler->rising, &(struct tide_sample_row){stack, *more});
      return;
    }
    TIDE_GROW(sampler->rows, sampler->n_rows, sampler->cap_rows);
    sampler->rows[sampler->n_rows++] = (struct tide_sample_row){stack, *more};
    return;
  }
  TIDE_GROW(sampler->stragglers, sampler->n_stragglers, sampler->cap_stragglers);
  sampler->stragglers[sampler->n_stragglers++] =
      (struct tide_sample_straggler){interval, {stack, *more}};
}

static void room_for_nodes(struct tide_sampler *sampler, size_t n)
{
  size_t before = sampler->cap_nodes, cap = (n + n / 2 + 63) & ~(size_t)63;
  if (n <= before)
    return;
  sampler->is_stack = tide_realloc_array(sampler->is_stack, cap / 64, sizeof(uint64_t));
  memset(sampler->is_stack + before / 64, 0, (cap - before) / 8);
  sampler->cap_nodes = cap;
}

static int64_t live_bytes_seen(const struct tide_sampler *sampler)
{
  return at_least_zero(sampler->intervals.heap.b_alloc - sampler->intervals.heap.b_free);
}

// The rows of the walk are the new snapshot's.
static void keep_snapshot(struct tide_sampler *sampler, uint32_t interval, uint64_t time_ns)
{
  if (!sampler->snapshots) // a short process has none
    sampler->snapshots = tide_alloc_array(TIDE_SAMPLE_MAX_SNAPSHOTS, sizeof *sampler->snapshots);
  struct tide_sample_snapshot *s = &sampler->snapshots[sampler->n_snapshots++];
  *s = (struct tide_sample_snapshot){.time_ns = time_ns, .interval = interval};
  tide_sample_rows_gather(&s->rows, sampler->rows, sampler->n_rows);
  if (s->rows.n) {
    tide_sample_rows_join(&s->rows, &sampler->rising);
    tide_sample_rows_done(&sampler->rising);
  } else {
    tide_sample_rows_done(&s->rows);
    s->rows = sampler->rising;
    tide_sample_rows_fit(&s->rows);
    sampler->rising = (struct tide_sample_rows){0};
  }
  s->live_bytes = live_bytes_seen(sampler);
  s->n_full = sampler->intervals.n_live + s->rows.n;
  s->n_full = s->n_full < sampler->n_stacks ? s->n_full : sampler->n_stacks;
  free(sampler->rows);
  sampler->rows = NULL;
  sampler->n_rows = sampler->cap_rows = 0;
}

static void list_edges(const struct tide_sampler *sampler,
                       uint32_t edges[TIDE_SAMPLE_MAX_SNAPSHOTS])
{
  for (size_t i = 0; i < sampler->n_snapshots; i++)
    edges[i] = sampler->snapshots[i].interval;
}

static int by_interval(const void *left, const void *right)
{
  const struct tide_sample_straggler *a = left, *b = right;
  return (a->interval > b->interval) - (a->interval < b->interval);
}

// A program that meets stacks faster than they are looked at has many: those of a snapshot go
// there together.
static void join_stragglers(struct tide_sampler *sampler)
{
  uint32_t edges[TIDE_SAMPLE_MAX_SNAPSHOTS];
  struct tide_sample_straggler *lates = sampler->stragglers;
  size_t n = sampler->n_stragglers, n_edges = sampler->n_snapshots;
  if (!n)
    return;
  list_edges(sampler, edges);
  qsort(lates, n, sizeof *lates, by_interval);
  TIDE_CLEANUP_FREE struct tide_sample_row *rows = tide_alloc_array(n, sizeof *rows);
  for (size_t i = 0; i < n;) {
    size_t at = tide_interval_edge(edges, n_edges, lates[i].interval), n_rows = 0;
    while (i < n && tide_interval_edge(edges, n_edges, lates[i].interval) == at)
      rows[n_rows++] = lates[i++].row;
    struct tide_sample_rows more = {0};
    tide_sample_rows_gather(&more, rows, n_rows);
    if (at < n_edges)
      tide_sample_rows_join(&sampler->snapshots[at].rows, &more);
    tide_sample_rows_done(&more);
  }
  sampler->n_joined += n;
  free(sampler->stragglers);
  sampler->stragglers = NULL;
  sampler->n_stragglers = sampler->cap_stragglers = 0;
}

static void settle_late_frees(struct tide_sampler *sampler)
{
  uint32_t edges[TIDE_SAMPLE_MAX_SNAPSHOTS];
  list_edges(sampler, edges);
  tide_late_frees_settle(&sampler->lates, edges, sampler->n_snapshots);
}

bool tide_sampler_snapshot(struct tide_sampler *sampler, struct tide_store_view *view,
                           uint64_t time_ns)
{
  uint64_t cpu_ns = tide_own_cpu_ns();
  uint32_t ended = sampler->walked ? 0 : tide_interval_end(view);
  if (!ended && sampler->n_snapshots && !sampler->walked)
    return false; // it had numbers, and has no more
  sampler->walked = !ended;
  if (sampler->n_snapshots == TIDE_SAMPLE_MAX_SNAPSHOTS)
    tide_sampler_thin_snapshots(sampler);
  if (ended && !tide_store_view_refresh(view, NULL)) // cells made meanwhile belong to it
    tide_store_view_nodes(view);
  room_for_nodes(sampler, view->n_nodes);
  sampler->kinds = view->kinds;
  tide_intervals_collect(&sampler->intervals, view, ended ? ended + 1 : UINT32_MAX, take_change,
                         sampler);
  join_stragglers(sampler);
  keep_snapshot(sampler, ended, time_ns);
  tide_late_frees_drain(&sampler->lates, view, false);
  if (tide_late_frees_are_many(&sampler->lates))
    settle_late_frees(sampler);
  tide_snapshot_pace_note(&sampler->pace, time_ns, live_bytes_seen(sampler), view->header.n_cells,
                          tide_own_cpu_ns() - cpu_ns);
  return true;
}

void tide_sampler_finish(struct tide_sampler *sampler, struct tide_store_view *view)
{
  sampler->finished = !sampler->walked;
  if (sampler->walked)
    return;
  sampler->lost = view->header.n_late_lost > 0;
  if (!sampler->n_snapshots)
    return;
  tide_store_view_nodes(view);
  room_for_nodes(sampler, view->n_nodes);
  sampler->kinds = view->kinds;
  tide_intervals_collect(&sampler->intervals, view, last_interval(sampler) + 1, take_change,
                         sampler);
  join_stragglers(sampler);
  tide_intervals_done(&sampler->intervals);
  tide_late_frees_drain(&sampler->lates, view, true);
}

void tide_sampler_mark_snapshot(struct tide_sampler *sampler)
{
  if (sampler->n_snapshots)
    sampler->snapshots[sampler->n_snapshots - 1].is_mark = true;
}

void tide_sampler_forget_snapshots(struct tide_sampler *sampler)
{
  size_t last = sampler->n_snapshots - 1;
  struct tide_sample_snapshot *first = &sampler->snapshots[0], kept = sampler->snapshots[last];
  for (size_t i = 0; i < last; i++) {
    tide_sample_rows_join(&kept.rows, &sampler->snapshots[i].rows);
    tide_sample_rows_done(&sampler->snapshots[i].rows);
  }
  kept.n_full = kept.rows.n;
  kept.is_reset = true;
  *first = kept;
  sampler->n_snapshots = 1;
  sampler->reset_interval = kept.interval;
  settle_late_frees(sampler);
}

// Looks may come late: two that are closer than this times the way would not both have been taken.
#define SLACK 1.25
#define MOST_MARKS 50u // that stay before others, and at most half of all
#define LONGEST_NS (UINT64_C(1) << 60)

// Where there are very many, the oldest of these are as any other.
static void release_marks(struct tide_sampler *sampler)
{
  size_t n = sampler->n_snapshots, most = n / 2 < MOST_MARKS ? n / 2 : MOST_MARKS, n_marks = 0;
  for (size_t i = 0; i < n; i++)
    n_marks += sampler->snapshots[i].is_mark;
  for (size_t i = 0; n_marks > most; i++) {
    n_marks -= sampler->snapshots[i].is_mark;
    sampler->snapshots[i].is_mark = false;
  }
}

// Chooses which go: those without which the one before (or the beginning) and the one behind are
// close enough. How many.
static size_t choose_going(const struct tide_sampler *sampler, bool *going)
{
  size_t n_going = 0;
  uint64_t last_ns = sampler->pace.begun_ns;
  int64_t last_bytes = 0;
  for (size_t i = 0; i < sampler->n_snapshots; i++) {
    const struct tide_sample_snapshot *s = &sampler->snapshots[i], *next = s + 1;
    bool may_go = i + 1 < sampler->n_snapshots && !s->is_mark && !s->is_reset;
    uint64_t span_ns = may_go && next->time_ns > last_ns ? next->time_ns - last_ns : 0;
    going[i] = may_go && tide_snapshot_pace_way(&sampler->pace, span_ns, last_bytes,
                                                next->live_bytes) <= SLACK;
    n_going += going[i];
    if (!going[i]) {
      last_ns = s->time_ns;
      last_bytes = s->live_bytes;
    }
  }
  return n_going;
}

void tide_sampler_thin_snapshots(struct tide_sampler *sampler)
{
  size_t n = sampler->n_snapshots, kept = 0;
  bool going[TIDE_SAMPLE_MAX_SNAPSHOTS] = {0};
  if (n < 2)
    return;
  release_marks(sampler);
  for (size_t n_going = 0; n_going <= n / 4 && sampler->pace.interval_ns < LONGEST_NS;) {
    sampler->pace.interval_ns *= 2;
    n_going = choose_going(sampler, going);
  }
  for (size_t i = 0; i < n; i++) {
    struct tide_sample_snapshot *s = &sampler->snapshots[i];
    if (going[i]) {
      tide_sample_rows_join(&s[1].rows, &s->rows);
      tide_sample_rows_done(&s->rows);
      if (s[1].n_full < s[1].rows.n)
        s[1].n_full = s[1].rows.n;
    } else {
      sampler->snapshots[kept++] = *s;
    }
  }
  sampler->n_snapshots = kept;
  settle_late_frees(sampler);
}

size_t tide_sampler_rows(const struct tide_sampler *sampler)
{
  size_t n = sampler->lates.n;
  for (size_t i = 0; i < sampler->n_snapshots; i++)
    n += sampler->snapshots[i].n_full;
  return n;
}

// From here on: an image's snapshots.

// What every stack that holds something has done so far, by rising stack.
struct states {
  struct tide_sample_row *rows;
  size_t n;
};

static void add_counts(struct tide_tally *sum, const struct tide_tally *more)
{
  sum->n_alloc += more->n_alloc;
  sum->b_alloc += more->b_alloc;
  sum->n_free += more->n_free;
  sum->b_free += more->b_free;
}

static void add_row_of(struct tide_snapshot *s, uint32_t stack, const struct tide_tally *all,
                       const struct tide_tally *more)
{
  struct tide_snapshot_row row = {
      .stack = stack,
      .live_bytes = at_least_zero(all->b_alloc - all->b_free),
      .live_blocks = at_least_zero(all->n_alloc - all->n_free),
      .n_alloc = more->n_alloc,
      .b_alloc = more->b_alloc,
  };
  if (row.live_bytes || row.live_blocks || row.n_alloc || row.b_alloc)
    s->rows[s->n_rows++] = row;
}

// The states and the rows since, joined: the states after them, and the image's snapshot. Stacks
// that the image does not have are left out.
static struct tide_snapshot
next_snapshot(struct states *states, const struct tide_sample_snapshot *snapshot, size_t n_frames)
{
  static const struct tide_tally nothing;
  struct tide_snapshot s = {.time_ns = snapshot->time_ns, .kind = TIDE_SNAPSHOT_TIMED};
  size_t most = states->n + snapshot->rows.n, n = 0;
  struct tide_sample_row *after = tide_alloc_array(most, sizeof *after);
  s.rows = tide_alloc_array(most, sizeof *s.rows);
  struct tide_sample_reader reader = tide_sample_reader_make(&snapshot->rows);
  for (size_t i = 0; i < states->n || reader.row.stack < n_frames;) {
    uint32_t old = i < states->n ? states->rows[i].stack : UINT32_MAX;
    if (old < reader.row.stack) {
      after[n] = states->rows[i++];
      add_row_of(&s, old, &after[n++].more, &nothing);
      continue;
    }
    struct tide_sample_row row = reader.row;
    if (i < states->n && old == row.stack)
      add_counts(&row.more, &states->rows[i++].more);
    add_row_of(&s, row.stack, &row.more, snapshot->is_reset ? &nothing : &reader.row.more);
    if (row.more.n_alloc != row.more.n_free || row.more.b_alloc != row.more.b_free)
      after[n++] = row; // else it is as if it had never been
    tide_sample_reader_next(&reader);
  }
  free(states->rows);
  *states = (struct states){after, n};
  s.rows = tide_realloc_array(s.rows, s.n_rows, sizeof *s.rows);
  return s;
}

void tide_sampler_fill_snapshots(const struct tide_sampler *sampler, struct tide_image *image)
{
  size_t n = sampler->n_snapshots;
  struct states states = {0};
  image->snapshots = tide_alloc_array(n + 2, sizeof *image->snapshots);
  for (size_t i = 0; i < n && sampler->snapshots[i].time_ns <= image->end_ns; i++)
    image->snapshots[image->n_snapshots++] =
        next_snapshot(&states, &sampler->snapshots[i], image->n_frames);
  if (image->n_snapshots && sampler->snapshots[0].is_reset)
    image->snapshots[0].time_ns = image->start_ns; // the same, by another clock
  free(states.rows);
}

static int by_time_and_stack(const void *left, const void *right)
{
  const struct tide_late_free *a = left, *b = right;
  return tide_late_free_is_before(b, a) - tide_late_free_is_before(a, b);
}

// The image's snapshots that end an interval: those that were taken, by time, and the end.
static size_t find_ends(const struct tide_image *image, uint32_t *ends)
{
  size_t n = 0;
  for (size_t i = 0; i < image->n_snapshots; i++)
    if (image->snapshots[i].kind != TIDE_SNAPSHOT_PEAK)
      ends[n++] = (uint32_t)i;
  return n;
}

void tide_sampler_fill_late_frees(struct tide_sampler *sampler, struct tide_image *image)
{
  uint32_t edges[TIDE_SAMPLE_MAX_SNAPSHOTS + 1], ends[TIDE_SAMPLE_MAX_SNAPSHOTS + 1];
  image->has_late_frees = sampler->finished && !sampler->lost;
  if (!image->has_late_frees)
    return;
  size_t n_edges = find_ends(image, ends);
  for (size_t i = 0; i + 1 < n_edges; i++)
    edges[i] = sampler->snapshots[i].interval;
  edges[n_edges - 1] = UINT32_MAX; // whatever came after that came before the end
  struct tide_late_frees *lates = &sampler->lates;
  tide_late_frees_settle(lates, edges, n_edges);
  image->late_frees = tide_alloc_array(lates->n, sizeof *image->late_frees);
  for (size_t i = 0; i < lates->n; i++) {
    struct tide_late_free row = lates->rows[i];
    row.born = ends[tide_interval_edge(edges, n_edges, row.born)];
    row.freed = ends[tide_interval_edge(edges, n_edges, row.freed)];
    if (row.stack < tide_image_n_frames(image) && row.born != row.freed)
      image->late_frees[image->n_late_frees++] = row;
  }
  if (image->n_late_frees)
    qsort(image->late_frees, image->n_late_frees, sizeof *image->late_frees, by_time_and_stack);
}
