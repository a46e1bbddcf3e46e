// SPDX-License-Identifier: Apache-2.0
//
// One look at a store: a tick, perhaps with counts, perhaps a snapshot. The target runs meanwhile,
// so a walk is no instant: a block that changes hands during it may be seen twice or not at all.
// Sums that come out negative for that reason are cut to zero. Only the peak and the end are exact.
#define _GNU_SOURCE
#include "capture/sample.h"

#include "base/alloc.h"
#include "capture/snapshot.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define WAKE_NS 4000 // waking up for a look, which no clock of ours sees
#define FIRST_TICK_INTERVAL_NS (1 * MS)
#define FIRST_SNAPSHOT_INTERVAL_NS (5 * MS)
#define RSS_MARK_INTERVAL_NS (50 * MS)
// After so many times its own processor time: together at most one hundredth of a core.
#define TICK_REST 200
#define WALK_REST 400
#define SNAPSHOT_REST 300

void tide_sampler_init(struct tide_sampler *sampler, uint32_t pid, uint64_t time_ns)
{
  *sampler = (struct tide_sampler){
      .pid = pid,
      .statm_fd = -1,
      .tick_interval_ns = FIRST_TICK_INTERVAL_NS,
      .snapshot_interval_ns = FIRST_SNAPSHOT_INTERVAL_NS,
      .next_tick_ns = time_ns,
      .next_snapshot_ns = time_ns + FIRST_SNAPSHOT_INTERVAL_NS,
      .next_rss_mark_ns = time_ns + RSS_MARK_INTERVAL_NS,
      .snapshots = tide_alloc_array(TIDE_SAMPLE_MAX_SNAPSHOTS, sizeof *sampler->snapshots),
  };
  if (pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/statm", pid);
    sampler->statm_fd = open(path, O_RDONLY | O_CLOEXEC);
  }
}

void tide_sampler_done(struct tide_sampler *sampler)
{
  if (sampler->statm_fd >= 0)
    close(sampler->statm_fd);
  for (size_t i = 0; i < sampler->n_snapshots; i++)
    free(sampler->snapshots[i].rows);
  free(sampler->snapshots);
  free(sampler->ticks);
  free(sampler->stacks);
  free(sampler->stack_of_node);
  *sampler = (struct tide_sampler){.statm_fd = -1};
}

static uint64_t rss_now(const struct tide_sampler *sampler)
{
  char text[128];
  ssize_t n = sampler->statm_fd < 0 ? 0 : pread(sampler->statm_fd, text, sizeof text - 1, 0);
  if (n <= 0)
    return 0;
  text[n] = 0;
  unsigned long long size_pages, resident_pages;
  if (sscanf(text, "%llu %llu", &size_pages, &resident_pages) != 2)
    return 0;
  return resident_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

// The kernel's own high water mark: sees what happened between two ticks.
static uint64_t rss_mark(uint32_t pid)
{
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/%u/status", pid);
  int fd = pid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  if (fd >= 0)
    close(fd);
  text[n > 0 ? n : 0] = 0;
  const char *line = strstr(text, "\nVmHWM:");
  return line ? strtoull(line + strlen("\nVmHWM:"), NULL, 10) * 1024 : 0;
}

struct walk {
  const struct tide_store_view *view;
  uint64_t n_alloc, b_alloc, n_free; // heap alone
  struct tide_sampler *sampler;      // sums per stack, pages too; NULL when only counting
};

static void add_to_stack(struct tide_sampler *sampler, uint32_t stack, const struct tide_cell *cell)
{
  uint32_t *index = &sampler->stack_of_node[stack];
  if (!*index) {
    TIDE_GROW(sampler->stacks, sampler->n_stacks, sampler->cap_stacks);
    sampler->stacks[sampler->n_stacks++] = (struct tide_sample_stack){0};
    *index = (uint32_t)sampler->n_stacks;
  }
  struct tide_sample_stack *sum = &sampler->stacks[*index - 1];
  sum->n_alloc += cell->n_alloc;
  sum->b_alloc += cell->b_alloc;
  sum->n_free += cell->n_free;
  sum->b_free += cell->b_free;
}

static void walk_block(void *context, const struct tide_cell_block *block)
{
  struct walk *walk = context;
  for (uint32_t i = 0; i < block->n; i++) {
    const struct tide_cell *cell = &block->cells[i];
    uint32_t stack = block->owners[i].stack;
    if (!stack)
      continue;
    if (walk->sampler)
      add_to_stack(walk->sampler, stack, cell);
    if (walk->view->kinds[stack] == TIDE_STACK_PAGES)
      continue;
    walk->n_alloc += cell->n_alloc;
    walk->b_alloc += cell->b_alloc;
    walk->n_free += cell->n_free;
  }
}

static int64_t at_least_zero(uint64_t sum)
{
  return (int64_t)sum > 0 ? (int64_t)sum : 0;
}

// Counts only rise, unless the store is broken: then what was counted stays counted.
static uint64_t count_since(uint64_t now, uint64_t *counted)
{
  uint64_t since = now > *counted ? now - *counted : 0;
  *counted += since;
  return since;
}

// What the walk found of a stack; its sums are then ready for the next.
static struct tide_snapshot_row row_take(struct tide_sample_stack *sum, uint32_t stack)
{
  struct tide_snapshot_row row = {
      .stack = stack,
      .live_bytes = at_least_zero(sum->b_alloc - sum->b_free),
      .live_blocks = at_least_zero(sum->n_alloc - sum->n_free),
      .n_alloc = count_since(sum->n_alloc, &sum->n_counted),
      .b_alloc = count_since(sum->b_alloc, &sum->b_counted),
  };
  sum->n_alloc = sum->b_alloc = sum->n_free = sum->b_free = 0;
  return row;
}

static void snapshot_add(struct tide_sampler *sampler, const struct walk *walk, uint64_t time_ns)
{
  if (sampler->n_snapshots == TIDE_SAMPLE_MAX_SNAPSHOTS)
    tide_sampler_thin_snapshots(sampler);
  struct tide_snapshot *s = &sampler->snapshots[sampler->n_snapshots];
  *s = (struct tide_snapshot){.time_ns = time_ns, .kind = TIDE_SNAPSHOT_TIMED};
  size_t cap = 0;
  for (size_t i = 1; i < walk->view->n_nodes; i++) {
    uint32_t index = sampler->stack_of_node[i];
    if (!index)
      continue;
    struct tide_snapshot_row row = row_take(&sampler->stacks[index - 1], (uint32_t)i);
    if (!row.live_bytes && !row.live_blocks && !row.n_alloc && !row.b_alloc)
      continue;
    TIDE_GROW(s->rows, s->n_rows, cap);
    s->rows[s->n_rows++] = row;
  }
  s->rows = tide_realloc_array(s->rows, s->n_rows, sizeof *s->rows);
  sampler->n_snapshots++;
  sampler->n_rows += s->n_rows;
}

void tide_sampler_thin_snapshots(struct tide_sampler *sampler)
{
  size_t n = sampler->n_snapshots, kept = 0;
  sampler->n_rows = 0;
  for (size_t i = 0; i < n; i++) {
    struct tide_snapshot *s = &sampler->snapshots[i];
    if ((n - i) % 2 == 0) {
      tide_snapshot_add_counts(s + 1, s->rows, s->n_rows);
      free(s->rows);
    } else {
      sampler->n_rows += s->n_rows;
      sampler->snapshots[kept++] = *s;
    }
  }
  sampler->n_snapshots = kept;
  sampler->snapshot_interval_ns *= 2;
}

static void thin_ticks(struct tide_sampler *sampler)
{
  size_t kept = 0;
  for (size_t i = 1; i < sampler->n_ticks; i += 2)
    sampler->ticks[kept++] = sampler->ticks[i];
  sampler->n_ticks = kept;
  sampler->tick_interval_ns *= 2;
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

static void walk_cells(struct tide_sampler *sampler, struct tide_store_view *view,
                       struct tide_sample_tick *tick, bool snapshot)
{
  tide_store_view_nodes(view);
  room_for_nodes(sampler, view->n_nodes);
  struct walk walk = {.view = view, .sampler = snapshot ? sampler : NULL};
  tide_store_view_cells(view, walk_block, &walk);
  if (snapshot)
    snapshot_add(sampler, &walk, tick->tick.time_ns);
  tick->tick.n_alloc = walk.n_alloc;
  tick->tick.b_alloc = walk.b_alloc;
  tick->tick.n_free = walk.n_free;
  tick->tick.live_blocks = at_least_zero(walk.n_alloc - walk.n_free);
  tick->counted = true;
}

static uint64_t own_cpu_ns(void)
{
  struct timespec spent;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return (uint64_t)spent.tv_sec * 1000 * MS + (uint64_t)spent.tv_nsec;
}

static uint64_t later(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

uint64_t tide_sampler_look(struct tide_sampler *sampler, struct tide_store_view *view,
                           uint64_t time_ns, size_t n_sharing)
{
  if (time_ns < sampler->next_tick_ns)
    return sampler->next_tick_ns;
  uint64_t before = own_cpu_ns();
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
                                        .rss_bytes = rss_now(sampler),
                                    }};
  sampler->max_rss_bytes = later(sampler->max_rss_bytes, tick->tick.rss_bytes);
  if (time_ns >= sampler->next_rss_mark_ns) {
    sampler->max_rss_bytes = later(sampler->max_rss_bytes, rss_mark(sampler->pid));
    sampler->next_rss_mark_ns = time_ns + RSS_MARK_INTERVAL_NS;
  }
  uint64_t look_ns = own_cpu_ns() - before + WAKE_NS;
  sampler->next_tick_ns =
      time_ns + later(sampler->tick_interval_ns, look_ns * TICK_REST * n_sharing);

  bool snapshot = time_ns >= sampler->next_snapshot_ns;
  if (snapshot || time_ns >= sampler->next_walk_ns) {
    walk_cells(sampler, view, tick, snapshot);
    uint64_t walk_ns = own_cpu_ns() - before + WAKE_NS - look_ns;
    sampler->next_walk_ns = time_ns + walk_ns * WALK_REST * n_sharing;
    if (snapshot)
      sampler->next_snapshot_ns =
          time_ns + later(sampler->snapshot_interval_ns, walk_ns * SNAPSHOT_REST * n_sharing);
  }
  return sampler->next_tick_ns;
}
