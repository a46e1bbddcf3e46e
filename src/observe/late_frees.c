// SPDX-License-Identifier: Apache-2.0
//
// Chunks are read by pread like everything else of a store; only their state is written back.
#define _GNU_SOURCE
#include "observe/late_frees.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <unistd.h>

#define SETTLE_ROWS 8192u

void tide_late_frees_done(struct tide_late_frees *lates)
{
  free(lates->rows);
  *lates = (struct tide_late_frees){0};
}

static uint32_t stack_of(const struct tide_store_view *view, uint32_t cell)
{
  struct tide_owner owner;
  const struct tide_owner *mapped = tide_store_map_at(&view->owners_map, cell, sizeof owner);
  if (mapped)
    owner = *mapped;
  else
    tide_store_view_items(view, &view->areas.owners, sizeof owner, cell, &owner, 1);
  return owner.stack < view->n_nodes ? owner.stack : 0;
}

static void take_rows(struct tide_late_frees *lates, const struct tide_store_view *view,
                      const struct tide_late_chunk *chunk)
{
  uint32_t n = chunk->n_rows < TIDE_LATE_ROWS ? chunk->n_rows : TIDE_LATE_ROWS;
  for (uint32_t i = 0; i < n; i++) {
    const struct tide_late_row *row = &chunk->rows[i];
    uint32_t stack = stack_of(view, TIDE_LATE_CELL(row->key));
    if (!stack || TIDE_LATE_BORN(row->key) >= chunk->interval)
      continue; // not from a recorder
    TIDE_GROW(lates->rows, lates->n, lates->cap);
    lates->rows[lates->n++] = (struct tide_late_free){stack, TIDE_LATE_BORN(row->key),
                                                      chunk->interval, row->n_blocks, row->bytes};
  }
}

// The state is the first word, and only its lowest byte ever differs: no torn write. A memfd that
// can be mapped for writing can be written.
static bool make_free(const struct tide_store_view *view, uint64_t offset)
{
  uint32_t state = TIDE_LATE_FREE;
  __atomic_thread_fence(__ATOMIC_SEQ_CST); // what is free is not read any more
  return pwrite(view->fd, &state, sizeof state, (off_t)offset) == (ssize_t)sizeof state;
}

void tide_late_frees_drain(struct tide_late_frees *lates, struct tide_store_view *view, bool ended)
{
  struct tide_store_header *shared = tide_store_view_shared(view);
  const struct tide_area *area = &view->areas.lates;
  uint64_t n = view->header.late_end < area->capacity ? view->header.late_end : area->capacity;
  if (!shared)
    return;
  for (uint64_t i = 0; i < n; i++) {
    struct tide_late_chunk chunk;
    uint64_t offset = area->offset + i * sizeof chunk;
    tide_store_view_read(view, offset, &chunk, offsetof(struct tide_late_chunk, rows));
    if (chunk.state != TIDE_LATE_CLOSED && !(ended && chunk.state == TIDE_LATE_TAKEN))
      continue;
    tide_store_view_read(view, offset, &chunk, sizeof chunk);
    if (!make_free(view, offset)) // or its rows would be taken again
      continue;
    take_rows(lates, view, &chunk);
    __atomic_store_n(&shared->late_next, 0, __ATOMIC_RELAXED);
  }
}

size_t tide_interval_edge(const uint32_t *edges, size_t n_edges, uint32_t interval)
{
  size_t lo = 0, hi = n_edges;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (edges[mid] < interval)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

static int by_stack_and_times(const void *left, const void *right)
{
  const struct tide_late_free *a = left, *b = right;
  if (a->stack != b->stack)
    return a->stack < b->stack ? -1 : 1;
  if (a->born != b->born)
    return a->born < b->born ? -1 : 1;
  return (a->freed > b->freed) - (a->freed < b->freed);
}

static uint32_t settled(const uint32_t *edges, size_t n_edges, uint32_t interval)
{
  size_t edge = tide_interval_edge(edges, n_edges, interval);
  return edge < n_edges ? edges[edge] : interval;
}

void tide_late_frees_settle(struct tide_late_frees *lates, const uint32_t *edges, size_t n_edges)
{
  struct tide_late_free *rows = lates->rows;
  size_t n = 0;
  for (size_t i = 0; i < lates->n; i++) {
    struct tide_late_free row = rows[i];
    row.born = settled(edges, n_edges, row.born);
    row.freed = settled(edges, n_edges, row.freed);
    if (row.born != row.freed)
      rows[n++] = row;
  }
  if (n)
    qsort(rows, n, sizeof *rows, by_stack_and_times);
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (kept && by_stack_and_times(&rows[kept - 1], &rows[i]) == 0) {
      rows[kept - 1].n_blocks += rows[i].n_blocks;
      rows[kept - 1].bytes += rows[i].bytes;
    } else {
      rows[kept++] = rows[i];
    }
  }
  lates->n = lates->n_settled = kept;
}

bool tide_late_frees_are_many(const struct tide_late_frees *lates)
{
  return lates->n > 2 * lates->n_settled + SETTLE_ROWS;
}
