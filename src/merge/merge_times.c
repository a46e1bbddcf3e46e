// SPDX-License-Identifier: Apache-2.0
//
// Sums over time. Each input is a step function: between two of its ticks or snapshots it is what
// it was at the earlier one, and past its last one it stays as it ended. The sum is taken at
// moments at which an input was looked at, thinned to as many as one recording has.
#include "merge/merge_inputs.h"

#include "base/alloc.h"
#include "model/image_sums.h"
#include "model/model.h"
#include "model/rows.h"

#include <stdlib.h>
#include <string.h>

struct moments {
  uint64_t *ns;
  size_t n, cap;
};

static void add_moment(struct moments *moments, uint64_t time_ns)
{
  TIDE_GROW(moments->ns, moments->n, moments->cap);
  moments->ns[moments->n++] = time_ns;
}

static int rising(const void *left, const void *right)
{
  const uint64_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

// Sorted, each once, at most n_max of them; the first and the last stay.
static void settle_moments(struct moments *moments, size_t n_max)
{
  size_t n = 0;
  if (moments->n)
    qsort(moments->ns, moments->n, sizeof *moments->ns, rising);
  for (size_t i = 0; i < moments->n; i++)
    if (!n || moments->ns[n - 1] != moments->ns[i])
      moments->ns[n++] = moments->ns[i];
  moments->n = n < n_max ? n : n_max;
  for (size_t i = 0; n > n_max && i < n_max; i++)
    moments->ns[i] = moments->ns[i * (n - 1) / (n_max - 1)];
}

static void add_tick(struct tide_tick *sum, const struct tide_tick *item)
{
  sum->live_bytes = (int64_t)((uint64_t)sum->live_bytes + (uint64_t)item->live_bytes);
  sum->live_blocks = (int64_t)((uint64_t)sum->live_blocks + (uint64_t)item->live_blocks);
  sum->n_alloc += item->n_alloc;
  sum->b_alloc += item->b_alloc;
  sum->n_free += item->n_free;
  sum->rss_bytes += item->rss_bytes;
  sum->page_bytes = (int64_t)((uint64_t)sum->page_bytes + (uint64_t)item->page_bytes);
  sum->n_resize += item->n_resize;
  sum->b_resized = (int64_t)((uint64_t)sum->b_resized + (uint64_t)item->b_resized);
}

// at[i]: ticks of input i up to that moment.
static struct tide_tick sum_ticks(const struct tide_merging *m, size_t *at, uint64_t time_ns)
{
  struct tide_tick sum = {.time_ns = time_ns};
  bool rss_known = true;
  for (size_t i = 0; i < m->n_inputs; i++) {
    const struct tide_image *input = m->inputs[i];
    while (at[i] < input->n_ticks && tide_merge_time(input, input->ticks[at[i]].time_ns) <= time_ns)
      at[i]++;
    if (!at[i])
      continue; // it has not begun
    add_tick(&sum, &input->ticks[at[i] - 1]);
    rss_known &= input->ticks[at[i] - 1].rss_bytes != 0;
  }
  sum.rss_bytes = rss_known ? sum.rss_bytes : 0;
  return sum;
}

// Whether times of different inputs can be compared. One input alone stays what it was.
static bool has_clock(const struct tide_merging *m)
{
  return m->n_inputs == 1 || !(m->image->lacks & TIDE_LACK_CLOCK);
}

static void merge_ticks(struct tide_merging *m)
{
  struct moments moments = {0};
  bool all_have = has_clock(m);
  for (size_t i = 0; i < m->n_inputs; i++) {
    const struct tide_image *input = m->inputs[i];
    all_have &= input->n_ticks > 0;
    for (size_t k = 0; k < input->n_ticks; k++)
      add_moment(&moments, tide_merge_time(input, input->ticks[k].time_ns));
  }
  settle_moments(&moments, TIDE_SAMPLE_MAX_TICKS);
  if (all_have) {
    TIDE_CLEANUP_FREE size_t *at = tide_alloc_array(m->n_inputs, sizeof *at);
    m->image->n_ticks = moments.n;
    m->image->ticks = tide_alloc_array(moments.n, sizeof *m->image->ticks);
    for (size_t i = 0; i < moments.n; i++)
      m->image->ticks[i] = sum_ticks(m, at, moments.ns[i]);
  }
  free(moments.ns);
}

static int by_time_and_name(const void *left, const void *right)
{
  const struct tide_mark *a = left, *b = right;
  int order = (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
  return order ? order : strcmp(a->name, b->name);
}

static void merge_marks(struct tide_merging *m)
{
  struct tide_image *image = m->image;
  size_t cap = 0;
  if (!has_clock(m))
    return;
  for (size_t i = 0; i < m->n_inputs; i++)
    for (size_t k = 0; k < m->inputs[i]->n_marks; k++) {
      const struct tide_mark *mark = &m->inputs[i]->marks[k];
      TIDE_GROW(image->marks, image->n_marks, cap);
      image->marks[image->n_marks++] = (struct tide_mark){
          tide_merge_time(m->inputs[i], mark->time_ns), tide_strdup(mark->name ? mark->name : "")};
    }
  if (image->n_marks)
    qsort(image->marks, image->n_marks, sizeof *image->marks, by_time_and_name);
}

struct row_sum { // signed in meaning, modulo 2^64
  uint64_t live_bytes, live_blocks, n_alloc, b_alloc;
};

static void add_rows(struct row_sum *sums, const struct tide_snapshot *snapshot,
                     const uint32_t *nodes, bool live, bool counts)
{
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row row = tide_snapshot_row_at(snapshot, i);
    struct row_sum *sum = &sums[nodes[row.stack]];
    sum->live_bytes += live ? (uint64_t)row.live_bytes : 0;
    sum->live_blocks += live ? (uint64_t)row.live_blocks : 0;
    sum->n_alloc += counts ? row.n_alloc : 0;
    sum->b_alloc += counts ? row.b_alloc : 0;
  }
}

// What was live at a moment, and what was allocated since the last call. at[i]: snapshots of input
// i that were counted.
static void sum_snapshots(const struct tide_merging *m, size_t *at, uint64_t time_ns,
                          struct row_sum *sums)
{
  for (size_t i = 0; i < m->n_inputs; i++) {
    const struct tide_image *input = m->inputs[i];
    for (; at[i] < input->n_snapshots; at[i]++) {
      const struct tide_snapshot *next = &input->snapshots[at[i]];
      if (tide_merge_time(input, next->time_ns) > time_ns)
        break;
      add_rows(sums, next, m->nodes[i], false, m->image->has_counts);
    }
    if (at[i])
      add_rows(sums, &input->snapshots[at[i] - 1], m->nodes[i], true, false);
  }
}

static bool is_nothing(const struct row_sum *sum)
{
  return !sum->live_bytes && !sum->live_blocks && !sum->n_alloc && !sum->b_alloc;
}

static void keep_snapshot(struct tide_image *image, uint64_t time_ns, const struct row_sum *sums)
{
  struct tide_snapshot *snapshot = &image->snapshots[image->n_snapshots++];
  size_t n = 0;
  for (size_t i = 0; i < image->n_frames; i++)
    n += !is_nothing(&sums[i]);
  *snapshot = (struct tide_snapshot){.time_ns = time_ns, .kind = TIDE_SNAPSHOT_TIMED};
  snapshot->rows = tide_alloc_array(n, sizeof *snapshot->rows);
  for (size_t i = 0; i < image->n_frames; i++)
    if (!is_nothing(&sums[i]))
      snapshot->rows[snapshot->n_rows++] = (struct tide_snapshot_row){
          (uint32_t)i, (int64_t)sums[i].live_bytes, (int64_t)sums[i].live_blocks, sums[i].n_alloc,
          sums[i].b_alloc};
}

// An input did not tell when it allocated: then nobody knows for all of them.
static void forget_counts(struct tide_image *image)
{
  image->has_counts = false;
  for (size_t i = 0; i < image->n_snapshots; i++) {
    struct tide_snapshot *snapshot = &image->snapshots[i];
    size_t n = 0;
    for (size_t k = 0; k < snapshot->n_rows; k++) {
      struct tide_snapshot_row row = snapshot->rows[k];
      row.n_alloc = row.b_alloc = 0;
      if (row.live_bytes || row.live_blocks)
        snapshot->rows[n++] = row;
    }
    snapshot->n_rows = n;
  }
}

// Another tool's file may hold its peak and its end and nothing between: that is no step function.
static bool was_looked_at(const struct tide_image *input)
{
  bool looked = !input->origin && input->n_snapshots > 0;
  for (size_t i = 0; i < input->n_snapshots && !looked; i++)
    looked = input->snapshots[i].kind == TIDE_SNAPSHOT_TIMED;
  return looked;
}

static void merge_snapshots(struct tide_merging *m)
{
  struct tide_image *image = m->image;
  struct moments moments = {0};
  bool all_have = has_clock(m);
  for (size_t i = 0; i < m->n_inputs; i++) {
    const struct tide_image *input = m->inputs[i];
    all_have &= was_looked_at(input);
    for (size_t k = 0; k < input->n_snapshots; k++)
      if (input->snapshots[k].kind == TIDE_SNAPSHOT_TIMED &&
          tide_merge_time(input, input->snapshots[k].time_ns) < image->end_ns)
        add_moment(&moments, tide_merge_time(input, input->snapshots[k].time_ns));
  }
  settle_moments(&moments, TIDE_SAMPLE_MAX_SNAPSHOTS);
  if (all_have) {
    TIDE_CLEANUP_FREE size_t *at = tide_alloc_array(m->n_inputs, sizeof *at);
    TIDE_CLEANUP_FREE struct row_sum *sums = tide_alloc_array(image->n_frames, sizeof *sums);
    image->snapshots = tide_alloc_array(moments.n, sizeof *image->snapshots);
    for (size_t i = 0; i < moments.n; i++) {
      memset(sums, 0, image->n_frames * sizeof *sums);
      sum_snapshots(m, at, moments.ns[i], sums);
      keep_snapshot(image, moments.ns[i], sums);
    }
  }
  free(moments.ns);
  bool has_counts = image->has_counts;
  tide_image_add_exact_snapshots(image);
  if (!has_counts)
    forget_counts(image);
}

void tide_merge_times(struct tide_merging *merging)
{
  merge_ticks(merging);
  merge_marks(merging);
  merge_snapshots(merging);
}
