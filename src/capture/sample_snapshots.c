// SPDX-License-Identifier: Apache-2.0
//
// Snapshots: taken, thinned out, and at last told in the image's terms.
//
// Memory follows what happened: a stack that did nothing between two snapshots has no row there,
// however much it holds. In an image it has one, so what an image would cost is counted along.
#define _GNU_SOURCE
#include "capture/sample.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void add_counts(struct tide_tally *sum, const struct tide_tally *more)
{
  sum->n_alloc += more->n_alloc;
  sum->b_alloc += more->b_alloc;
  sum->n_free += more->n_free;
  sum->b_free += more->b_free;
}

static bool any_counts(const struct tide_tally *counts)
{
  return counts->n_alloc || counts->b_alloc || counts->n_free || counts->b_free;
}

static struct tide_sample_stack *stack_at(struct tide_sampler *sampler, uint32_t stack)
{
  uint32_t *index = &sampler->stack_of_node[stack];
  if (!*index) {
    TIDE_GROW(sampler->stacks, sampler->n_stacks, sampler->cap_stacks);
    sampler->stacks[sampler->n_stacks++] = (struct tide_sample_stack){0};
    *index = (uint32_t)sampler->n_stacks;
  }
  return &sampler->stacks[*index - 1];
}

static uint32_t last_interval(const struct tide_sampler *sampler)
{
  return sampler->n_snapshots ? sampler->snapshots[sampler->n_snapshots - 1].interval : 0;
}

static void take(void *context, uint32_t stack, uint32_t interval, const struct tide_tally *more)
{
  struct tide_sampler *sampler = context;
  struct tide_sample_stack *sum = stack_at(sampler, stack);
  add_counts(&sum->all, more);
  if (sampler->walked || interval > last_interval(sampler)) {
    add_counts(&sum->more, more);
    return;
  }
  TIDE_GROW(sampler->stragglers, sampler->n_stragglers, sampler->cap_stragglers);
  sampler->stragglers[sampler->n_stragglers++] =
      (struct tide_sample_straggler){interval, {stack, *more}};
}

static void room_for_nodes(struct tide_sampler *sampler, size_t n)
{
  size_t before = sampler->cap_nodes, cap = n + n / 2;
  if (n <= before)
    return;
  sampler->stack_of_node = tide_realloc_array(sampler->stack_of_node, cap, sizeof(uint32_t));
  memset(sampler->stack_of_node + before, 0, (cap - before) * sizeof(uint32_t));
  sampler->cap_nodes = cap;
}

static bool is_live(const struct tide_tally *all)
{
  return all->n_alloc != all->n_free || all->b_alloc != all->b_free;
}

static void keep(struct tide_sampler *sampler, uint32_t interval, uint64_t time_ns)
{
  struct tide_sample_snapshot *s = &sampler->snapshots[sampler->n_snapshots++];
  *s = (struct tide_sample_snapshot){.time_ns = time_ns, .interval = interval};
  size_t cap = 0;
  for (size_t i = 1; i < sampler->cap_nodes; i++) {
    uint32_t index = sampler->stack_of_node[i];
    struct tide_sample_stack *sum = index ? &sampler->stacks[index - 1] : NULL;
    if (!sum)
      continue;
    s->n_full += is_live(&sum->all) || any_counts(&sum->more);
    if (!any_counts(&sum->more))
      continue;
    TIDE_GROW(s->rows, s->n_rows, cap);
    s->rows[s->n_rows++] = (struct tide_sample_row){(uint32_t)i, sum->more};
    sum->more = (struct tide_tally){0};
  }
  s->rows = tide_realloc_array(s->rows, s->n_rows, sizeof *s->rows);
}

static void settle_late_frees(struct tide_sampler *sampler)
{
  uint32_t edges[TIDE_SAMPLE_MAX_SNAPSHOTS];
  for (size_t i = 0; i < sampler->n_snapshots; i++)
    edges[i] = sampler->snapshots[i].interval;
  tide_late_frees_settle(&sampler->lates, edges, sampler->n_snapshots);
}

bool tide_sampler_snapshot(struct tide_sampler *sampler, struct tide_store_view *view,
                           uint64_t time_ns)
{
  uint32_t ended = sampler->walked ? 0 : tide_interval_end(view);
  if (!ended && sampler->n_snapshots && !sampler->walked)
    return false; // it had numbers, and has no more
  sampler->walked = !ended;
  if (sampler->n_snapshots == TIDE_SAMPLE_MAX_SNAPSHOTS)
    tide_sampler_thin_snapshots(sampler);
  room_for_nodes(sampler, view->n_nodes);
  tide_intervals_collect(&sampler->intervals, view, ended ? ended + 1 : UINT32_MAX, take, sampler);
  keep(sampler, ended, time_ns);
  tide_late_frees_drain(&sampler->lates, view, &sampler->intervals, false);
  if (tide_late_frees_are_many(&sampler->lates))
    settle_late_frees(sampler);
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
  tide_intervals_collect(&sampler->intervals, view, last_interval(sampler) + 1, take, sampler);
  tide_late_frees_drain(&sampler->lates, view, &sampler->intervals, true);
}

// Rows of both, those of one stack added up.
static void join_rows(struct tide_sample_snapshot *to, const struct tide_sample_snapshot *from)
{
  struct tide_sample_row *rows = tide_alloc_array(to->n_rows + from->n_rows, sizeof *rows);
  size_t n = 0, a = 0, b = 0;
  while (a < to->n_rows || b < from->n_rows) {
    uint32_t own = a < to->n_rows ? to->rows[a].stack : UINT32_MAX;
    uint32_t other = b < from->n_rows ? from->rows[b].stack : UINT32_MAX;
    struct tide_sample_row row = {.stack = own < other ? own : other};
    if (own == row.stack)
      add_counts(&row.more, &to->rows[a++].more);
    if (other == row.stack)
      add_counts(&row.more, &from->rows[b++].more);
    rows[n++] = row;
  }
  free(to->rows);
  to->rows = tide_realloc_array(rows, n, sizeof *rows);
  to->n_rows = n;
  to->n_full = to->n_full > n ? to->n_full : n;
}

void tide_sampler_thin_snapshots(struct tide_sampler *sampler)
{
  size_t n = sampler->n_snapshots, kept = 0;
  for (size_t i = 0; i < n; i++) {
    struct tide_sample_snapshot *s = &sampler->snapshots[i];
    if ((n - i) % 2 == 0) {
      join_rows(s + 1, s);
      free(s->rows);
    } else {
      sampler->snapshots[kept++] = *s;
    }
  }
  sampler->n_snapshots = kept;
  sampler->snapshot_interval_ns *= 2;
  settle_late_frees(sampler);
}

size_t tide_sampler_rows(const struct tide_sampler *sampler)
{
  size_t n = sampler->lates.n + sampler->n_stragglers;
  for (size_t i = 0; i < sampler->n_snapshots; i++)
    n += sampler->snapshots[i].n_full;
  return n;
}

// From here on: an image's snapshots.

struct telling {
  const struct tide_sampler *sampler;
  struct tide_tally *all, *more; // per stack of the sampler
  uint32_t *nodes;               // of these stacks, rising
  size_t n_nodes;
  uint32_t edges[TIDE_SAMPLE_MAX_SNAPSHOTS];
};

static void add_row(struct telling *t, const struct tide_sample_row *row)
{
  uint32_t index = t->sampler->stack_of_node[row->stack] - 1;
  add_counts(&t->all[index], &row->more);
  add_counts(&t->more[index], &row->more);
}

static int64_t at_least_zero(uint64_t sum)
{
  return (int64_t)sum > 0 ? (int64_t)sum : 0;
}

static struct tide_snapshot snapshot_now(const struct telling *t, uint64_t time_ns)
{
  struct tide_snapshot s = {.time_ns = time_ns, .kind = TIDE_SNAPSHOT_TIMED};
  s.rows = tide_alloc_array(t->n_nodes, sizeof *s.rows);
  for (size_t i = 0; i < t->n_nodes; i++) {
    uint32_t index = t->sampler->stack_of_node[t->nodes[i]] - 1;
    const struct tide_tally *all = &t->all[index], *more = &t->more[index];
    struct tide_snapshot_row row = {
        .stack = t->nodes[i],
        .live_bytes = at_least_zero(all->b_alloc - all->b_free),
        .live_blocks = at_least_zero(all->n_alloc - all->n_free),
        .n_alloc = more->n_alloc,
        .b_alloc = more->b_alloc,
    };
    if (row.live_bytes || row.live_blocks || row.n_alloc || row.b_alloc)
      s.rows[s.n_rows++] = row;
  }
  s.rows = tide_realloc_array(s.rows, s.n_rows, sizeof *s.rows);
  return s;
}

static struct telling telling_make(const struct tide_sampler *sampler, size_t n_frames)
{
  struct telling t = {
      .sampler = sampler,
      .all = tide_alloc_array(sampler->n_stacks, sizeof *t.all),
      .more = tide_alloc_array(sampler->n_stacks, sizeof *t.more),
      .nodes = tide_alloc_array(sampler->n_stacks, sizeof *t.nodes),
  };
  for (size_t i = 1; i < sampler->cap_nodes && i < n_frames; i++)
    if (sampler->stack_of_node[i])
      t.nodes[t.n_nodes++] = (uint32_t)i;
  for (size_t i = 0; i < sampler->n_snapshots; i++)
    t.edges[i] = sampler->snapshots[i].interval;
  return t;
}

void tide_sampler_fill_snapshots(const struct tide_sampler *sampler, struct tide_image *image)
{
  size_t n = sampler->n_snapshots;
  image->snapshots = tide_alloc_array(n + 2, sizeof *image->snapshots);
  struct telling t = telling_make(sampler, image->n_frames);
  for (size_t s = 0; s < n && sampler->snapshots[s].time_ns <= image->end_ns; s++) {
    const struct tide_sample_snapshot *snapshot = &sampler->snapshots[s];
    memset(t.more, 0, sampler->n_stacks * sizeof *t.more);
    for (size_t i = 0; i < snapshot->n_rows; i++)
      add_row(&t, &snapshot->rows[i]);
    for (size_t i = 0; i < sampler->n_stragglers; i++)
      if (tide_interval_edge(t.edges, n, sampler->stragglers[i].interval) == s)
        add_row(&t, &sampler->stragglers[i].row);
    image->snapshots[image->n_snapshots++] = snapshot_now(&t, snapshot->time_ns);
  }
  free(t.all);
  free(t.more);
  free(t.nodes);
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
    if (row.stack < image->n_frames && row.born != row.freed)
      image->late_frees[image->n_late_frees++] = row;
  }
  if (image->n_late_frees)
    qsort(image->late_frees, image->n_late_frees, sizeof *image->late_frees, by_time_and_stack);
}
