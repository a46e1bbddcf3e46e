// SPDX-License-Identifier: Apache-2.0
//
// One look at a store: a tick, perhaps with counts, perhaps a snapshot. The target runs meanwhile,
// so the counts of a tick are of no instant: a block that changes hands during a walk may be seen
// twice or not at all, and sums that come out negative for that reason are cut to zero. Snapshots
// know better (sample_snapshots.c).
#define _GNU_SOURCE
#include "observe/sample.h"

#include "base/alloc.h"
#include "observe/clock.h"

#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define WAKE_NS 4000 // waking up for a look, which no clock of ours sees
#define FIRST_TICK_INTERVAL_NS (1 * MS)
// After so many times its own processor time: with snapshots, about one hundredth of a core.
#define TICK_REST 240
#define WALK_REST 1000
// Of many images each has fewer places that are looked at every time: their memory, too, is shared.
#define FEW_IMAGES 8
#define FEW_TOPS 8u

void tide_sampler_init(struct tide_sampler *sampler, uint32_t pid, uint64_t time_ns)
{
  *sampler = (struct tide_sampler){
      .tick_interval_ns = FIRST_TICK_INTERVAL_NS,
      .next_tick_ns = time_ns,
  };
  tide_snapshot_pace_init(&sampler->pace, time_ns);
  tide_rss_init(&sampler->rss, pid, time_ns);
}

static void forget_ticks(struct tide_sampler *sampler)
{
  for (size_t i = 0; i < sampler->n_ticks; i++)
    free(sampler->ticks[i].tops);
  sampler->n_ticks = 0;
}

void tide_sampler_done(struct tide_sampler *sampler)
{
  tide_rss_done(&sampler->rss);
  for (size_t i = 0; i < sampler->n_snapshots; i++)
    tide_sample_rows_done(&sampler->snapshots[i].rows);
  free(sampler->snapshots);
  forget_ticks(sampler);
  free(sampler->ticks);
  free(sampler->tops);
  free(sampler->stragglers);
  tide_sample_rows_done(&sampler->rising);
  free(sampler->rows);
  free(sampler->is_stack);
  tide_intervals_done(&sampler->intervals);
  tide_late_frees_done(&sampler->lates);
  tide_before_free(sampler->before);
  *sampler = (struct tide_sampler){.rss.resident = {.statm_fd = -1, .pagemap_fd = -1}};
}

struct walk {
  struct tide_store_view *view;
  struct tide_tally heap;
  struct tide_resizes resizes;
};

static void walk_block(void *context, const struct tide_cell_block *block)
{
  struct walk *walk = context;
  for (uint32_t i = 0; i < block->n; i++) {
    const struct tide_cell *cell = &block->cells[i];
    uint32_t stack = block->owners[i].stack;
    if (!stack || walk->view->kinds[stack] == TIDE_SITE_PAGES)
      continue;
    walk->heap.n_alloc += cell->n_alloc;
    walk->heap.b_alloc += cell->b_alloc;
    walk->heap.n_free += cell->n_free;
    tide_resizes_add(&walk->resizes, walk->view, cell);
  }
}

static int64_t at_least_zero(uint64_t sum)
{
  return (int64_t)sum > 0 ? (int64_t)sum : 0;
}

static void thin_ticks(struct tide_sampler *sampler)
{
  size_t kept = 0;
  for (size_t i = 0; i < sampler->n_ticks; i++)
    if (i % 2)
      sampler->ticks[kept++] = sampler->ticks[i];
    else
      free(sampler->ticks[i].tops);
  sampler->n_ticks = kept;
  sampler->tick_interval_ns *= 2;
}

static void take_off_before(const struct tide_before *before, struct tide_tally *heap,
                            struct tide_resizes *resizes)
{
  heap->n_alloc = tide_more_than(heap->n_alloc, before->heap.n_alloc);
  heap->b_alloc = tide_more_than(heap->b_alloc, before->heap.b_alloc);
  heap->n_free = tide_more_than(heap->n_free, before->heap.n_free);
  resizes->n = tide_more_than(resizes->n, before->resizes.n);
  resizes->b_old = tide_more_than(resizes->b_old, before->resizes.b_old);
  resizes->b_new = tide_more_than(resizes->b_new, before->resizes.b_new);
}

// What all cells tell, those of threads that came meanwhile as well.
static struct walk add_cells_up(struct tide_store_view *view)
{
  struct walk walk = {.view = view};
  for (unsigned i = 0; i < TIDE_STORE_LOOKS; i++) {
    walk = (struct walk){.view = view};
    if (tide_store_view_refresh(view, NULL))
      break;
    tide_store_view_nodes(view);
    tide_store_view_cells(view, walk_block, &walk);
    if (tide_store_view_slots_now(view) == view->header.n_slots)
      break;
  }
  return walk;
}

// False: no more snapshots are to be had, and this was a walk alone.
static bool walk_cells(struct tide_sampler *sampler, struct tide_store_view *view,
                       struct tide_tick *tick, bool snapshot)
{
  struct tide_tally heap;
  struct tide_resizes resizes;
  tide_store_view_nodes(view);
  bool taken = snapshot && tide_sampler_snapshot(sampler, view, tick->time_ns);
  if (taken) {
    heap = sampler->intervals.heap;
    resizes = sampler->intervals.resizes;
  } else {
    struct walk walk = add_cells_up(view);
    heap = walk.heap;
    resizes = walk.resizes;
  }
  tick->live_blocks = at_least_zero(heap.n_alloc - heap.n_free);
  if (sampler->before)
    take_off_before(sampler->before, &heap, &resizes);
  tick->n_alloc = heap.n_alloc;
  tick->b_alloc = heap.b_alloc;
  tick->n_free = heap.n_free;
  tick->n_resize = resizes.n;
  tick->b_resized = (int64_t)(resizes.b_new - resizes.b_old);
  return taken || !snapshot;
}

uint64_t tide_sampler_allocated(struct tide_store_view *view)
{
  struct walk walk = {.view = view};
  tide_store_view_nodes(view);
  tide_store_view_cells(view, walk_block, &walk);
  return walk.heap.b_alloc;
}

static uint64_t later_of(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

// Those of a new snapshot, at its expense.
static void choose_tops(struct tide_sampler *sampler, const struct tide_store_view *view,
                        size_t n_sharing)
{
  uint64_t before = tide_own_cpu_ns();
  if (sampler->tops && sampler->chosen_ns == sampler->pace.last_ns)
    return;
  if (!sampler->tops)
    sampler->tops = tide_alloc(sizeof *sampler->tops);
  tide_tops_choose(sampler->tops, &sampler->intervals, view,
                   n_sharing > FEW_IMAGES ? FEW_TOPS : TIDE_TOP_STACKS);
  sampler->chosen_ns = sampler->pace.last_ns;
  tide_snapshot_pace_note_more(&sampler->pace, tide_own_cpu_ns() - before);
}

// What the largest stacks hold; gives what that took.
static uint64_t look_at_tops(struct tide_sampler *sampler, struct tide_store_view *view,
                             struct tide_sample_tick *tick, size_t n_sharing)
{
  if (!sampler->n_snapshots || sampler->walked)
    return 0;
  choose_tops(sampler, view, n_sharing);
  uint64_t before = tide_own_cpu_ns();
  tick->tops = tide_tops_read(sampler->tops, view);
  tick->n_tops = tick->tops ? sampler->tops->n_stacks : 0;
  return tide_own_cpu_ns() - before;
}

uint64_t tide_sampler_look(struct tide_sampler *sampler, struct tide_store_view *view,
                           uint64_t time_ns, size_t n_sharing)
{
  if (time_ns < sampler->next_tick_ns)
    return sampler->next_tick_ns;
  uint64_t before = tide_own_cpu_ns();
  if (sampler->n_ticks == TIDE_SAMPLE_MAX_TICKS)
    thin_ticks(sampler);
  struct tide_store_totals totals;
  tide_store_view_totals(view, &totals);
  TIDE_GROW(sampler->ticks, sampler->n_ticks, sampler->cap_ticks);
  struct tide_sample_tick *tick = &sampler->ticks[sampler->n_ticks++];
  *tick = (struct tide_sample_tick){.tick = {
                                        .time_ns = time_ns,
                                        .live_bytes = at_least_zero((uint64_t)totals.live_bytes),
                                        .page_bytes = totals.page_bytes,
                                    }};
  tick->tick.rss_bytes =
      tide_rss_take(&sampler->rss, view, time_ns, tick->tick.live_bytes, n_sharing);
  before += sampler->rss.spent_ns; // paid for apart
  uint64_t look_ns = tide_own_cpu_ns() - before + WAKE_NS;
  bool snapshot = tide_snapshot_pace_is_due(&sampler->pace, time_ns, tick->tick.live_bytes,
                                            view->header.n_cells, n_sharing);
  if (snapshot || time_ns >= sampler->next_walk_ns) {
    sampler->pace.is_over |= !walk_cells(sampler, view, &tick->tick, snapshot);
    tick->counted = true;
    uint64_t walk_ns = tide_own_cpu_ns() - before + WAKE_NS - look_ns;
    sampler->next_walk_ns = time_ns + walk_ns * WALK_REST * n_sharing;
  }
  look_ns += look_at_tops(sampler, view, tick, n_sharing);
  sampler->next_tick_ns =
      time_ns + later_of(sampler->tick_interval_ns, look_ns * TICK_REST * n_sharing);
  return sampler->next_tick_ns;
}

bool tide_sampler_reset(struct tide_sampler *sampler, struct tide_store_view *view,
                        uint64_t time_ns, uint64_t monotonic_ns)
{
  tide_store_view_nodes(view);
  if (!tide_sampler_snapshot(sampler, view, time_ns))
    return false;
  tide_sampler_forget_snapshots(sampler);
  view->before = NULL;
  tide_before_free(sampler->before);
  sampler->before = tide_before_new(view, &sampler->intervals, monotonic_ns);
  view->before = sampler->before;
  forget_ticks(sampler);
  sampler->tick_interval_ns = FIRST_TICK_INTERVAL_NS;
  sampler->next_tick_ns = sampler->next_walk_ns = time_ns;
  // Snapshots are numbered, and there are only so many numbers.
  if (view->header.stamp.interval < TIDE_LAST_INTERVAL / 2)
    tide_snapshot_pace_init(&sampler->pace, time_ns);
  tide_rss_restart(&sampler->rss);
  return true;
}
