// SPDX-License-Identifier: Apache-2.0
//
// Looking at a cell that its thread changes meanwhile. The thread and the walk take these steps, in
// this order each (the walk's fences are acquire, the thread's stores release):
//
//     the thread, at its first event in a new interval     the walk (look_first(), take_cell())
//     (store/book.c: tide_book_close())
//       1. the closing: counters so far, then the            a. the interval (`first`) and counters
//          interval that they are of                         b. both closings
//       2. the cell's interval                               c. the interval once more (`present`)
//       3. counters
//
// The supervisor alone raises the number in the header, and not during a walk, so that a cell's
// interval moves at most once between a and c. From this follow the two rules of take_cell():
//  - Counters of a belong to no interval later than `present`. For if the interval had moved before
//    the counters of a did, c finds the new one.
//  - Closings of intervals below `first` are whole at b, as 2 comes after 1. A closing that the
//    thread is writing at b is of `first` itself; it overwrites the older of the two, which the
//    walk before this one has taken.
// A single (store/annex.h) has its closing in the cell itself, its counters being those of one
// block. If it is none any more at c, what b found may be more: a begins again, once.
#define _GNU_SOURCE
#include "observe/intervals.h"

#include "base/alloc.h"
#include "observe/store_view.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WIDE UINT16_MAX // as the interval of a cell
#define CHUNK_CELLS 4096u

struct collecting {
  struct tide_intervals *intervals;
  struct tide_store_view *view;
  uint32_t before;
  tide_interval_take *take;
  void *context;
  // Of the block at hand:
  struct first_look {
    struct tide_stamp stamp;
    struct tide_tally did;
  } * first;
  bool *wanted; // it may have changed
  uint32_t id;  // of the cell at hand
};

void tide_intervals_done(struct tide_intervals *intervals)
{
  for (size_t i = 0; i < intervals->n_chunks; i++)
    free(intervals->chunks[i]);
  free(intervals->chunks);
  free(intervals->wides);
  free(intervals->blocks);
  *intervals = (struct tide_intervals){0};
}

static struct tide_interval_cell *cell_at(struct tide_intervals *intervals, uint32_t id)
{
  size_t at = id / CHUNK_CELLS, before = intervals->n_chunks;
  if (at >= before) {
    intervals->n_chunks = at + at / 2 + 16;
    intervals->chunks =
        tide_realloc_array(intervals->chunks, intervals->n_chunks, sizeof *intervals->chunks);
    memset(intervals->chunks + before, 0,
           (intervals->n_chunks - before) * sizeof *intervals->chunks);
  }
  if (!intervals->chunks[at])
    intervals->chunks[at] = tide_alloc_array(CHUNK_CELLS, sizeof **intervals->chunks);
  return &intervals->chunks[at][id % CHUNK_CELLS];
}

static struct tide_interval_wide seen_of(const struct tide_intervals *intervals,
                                         const struct tide_interval_cell *c)
{
  if (c->interval == WIDE)
    return intervals->wides[c->b_alloc];
  return (struct tide_interval_wide){
      {c->n_alloc, c->b_alloc, c->n_free, c->b_free}, c->interval, c->closed};
}

static bool is_as_seen(const struct tide_intervals *intervals, const struct tide_interval_cell *c,
                       uint32_t interval, const struct tide_tally *did)
{
  if (c->interval != WIDE)
    return c->interval == interval && c->n_alloc == did->n_alloc && c->b_alloc == did->b_alloc &&
           c->n_free == did->n_free && c->b_free == did->b_free;
  const struct tide_interval_wide *wide = &intervals->wides[c->b_alloc];
  return wide->interval == interval && memcmp(&wide->seen, did, sizeof *did) == 0;
}

static bool is_narrow(const struct tide_interval_wide *w)
{
  return w->seen.b_alloc <= UINT32_MAX && w->seen.b_free <= UINT32_MAX &&
         w->seen.n_alloc <= UINT16_MAX && w->seen.n_free <= UINT16_MAX && w->interval < WIDE &&
         w->closed <= UINT16_MAX;
}

// Remembers what has been taken of a cell: in its narrow row, or among the wide ones for good.
static void note_seen(struct tide_intervals *intervals, struct tide_interval_cell *c,
                      const struct tide_interval_wide *now)
{
  if (c->interval == WIDE) {
    intervals->wides[c->b_alloc] = *now;
  } else if (is_narrow(now)) {
    *c = (struct tide_interval_cell){(uint32_t)now->seen.b_alloc, (uint32_t)now->seen.b_free,
                                     (uint16_t)now->seen.n_alloc, (uint16_t)now->seen.n_free,
                                     (uint16_t)now->interval,     (uint16_t)now->closed};
  } else {
    *c = (struct tide_interval_cell){.b_alloc = (uint32_t)intervals->n_wides, .interval = WIDE};
    TIDE_GROW(intervals->wides, intervals->n_wides, intervals->cap_wides);
    intervals->wides[intervals->n_wides++] = *now;
  }
}

struct tide_tally tide_interval_seen(const struct tide_intervals *intervals, uint32_t cell)
{
  size_t at = cell / CHUNK_CELLS;
  if (at >= intervals->n_chunks || !intervals->chunks[at])
    return (struct tide_tally){0};
  return seen_of(intervals, &intervals->chunks[at][cell % CHUNK_CELLS]).seen;
}

uint32_t tide_interval_end(struct tide_store_view *view)
{
  struct tide_store_header *header = tide_store_view_shared(view);
  if (!header)
    return 0;
  uint32_t number = __atomic_load_n(&header->stamp.interval, __ATOMIC_RELAXED);
  if (number < TIDE_FIRST_INTERVAL || number >= TIDE_LAST_INTERVAL)
    return 0;
  __atomic_store_n(&header->stamp.interval, number + 1, __ATOMIC_SEQ_CST);
  return number;
}

// Counts only rise, unless the store is broken: then what was counted stays counted. A look in the
// middle of an event may also find less than the closing had.
static uint64_t more_since(uint64_t now, uint64_t *seen)
{
  uint64_t more = now > *seen ? now - *seen : 0;
  *seen += more;
  return more;
}

static void take_counts(const struct collecting *c, struct tide_interval_wide *cell, uint32_t stack,
                        uint32_t interval, const struct tide_tally *now)
{
  struct tide_tally more = {
      .n_alloc = more_since(now->n_alloc, &cell->seen.n_alloc),
      .b_alloc = more_since(now->b_alloc, &cell->seen.b_alloc),
      .n_free = more_since(now->n_free, &cell->seen.n_free),
      .b_free = more_since(now->b_free, &cell->seen.b_free),
  };
  if (more.n_alloc || more.b_alloc || more.n_free || more.b_free)
    c->take(c->context, c->id, stack, interval, &more);
}

static void take_closing(struct collecting *c, struct tide_interval_wide *cell, uint32_t stack,
                         const struct tide_closing *closing, uint32_t first)
{
  if (closing->interval <= cell->closed || closing->interval >= first)
    return;
  cell->closed = closing->interval;
  take_counts(
      c, cell, stack, closing->interval,
      &(struct tide_tally){closing->n_alloc, closing->b_alloc, closing->n_free, closing->b_free});
}

static inline void look_first(const struct tide_cell *cell, struct first_look *ret)
{
  ret->stamp.both = __atomic_load_n(&cell->stamp.both, __ATOMIC_ACQUIRE);
  ret->did.n_alloc = __atomic_load_n(&cell->n_alloc, __ATOMIC_RELAXED);
  ret->did.b_alloc = __atomic_load_n(&cell->b_alloc, __ATOMIC_RELAXED);
  ret->did.n_free = __atomic_load_n(&cell->n_free, __ATOMIC_RELAXED);
  ret->did.b_free = __atomic_load_n(&cell->b_free, __ATOMIC_RELAXED);
}

// The second look: its closings, then its interval. False: it is no single any more.
static bool take_look(struct collecting *c, const struct first_look *look, uint32_t stack,
                      const struct tide_cell *now, struct tide_interval_wide *cell)
{
  struct tide_closing closings[2];
  uint32_t first = tide_stamp_interval(look->stamp);
  cell->interval = first;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  tide_closings_read(c->view, now, look->stamp, closings);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  struct tide_stamp stamp = {.both = __atomic_load_n(&now->stamp.both, __ATOMIC_ACQUIRE)};
  if (look->stamp.interval & TIDE_SINGLE && !(stamp.interval & TIDE_SINGLE))
    return false;
  uint32_t present = tide_stamp_interval(stamp);
  bool swapped = closings[1].interval < closings[0].interval;
  take_closing(c, cell, stack, &closings[swapped], first);
  take_closing(c, cell, stack, &closings[!swapped], first);
  if (present < c->before)
    take_counts(c, cell, stack, present, &look->did);
  return true;
}

static void take_cell(struct collecting *c, const struct first_look *look, uint32_t stack,
                      const struct tide_cell *now, struct tide_interval_wide *cell)
{
  if (take_look(c, look, stack, now, cell))
    return;
  struct first_look again;
  look_first(now, &again);
  take_look(c, &again, stack, now, cell); // of a store that is as it should be, it never fails
}

void tide_resizes_add(struct tide_resizes *sum, struct tide_store_view *view,
                      const struct tide_cell *cell)
{
  struct tide_past past;
  if (!tide_resizes_read(view, cell, &past))
    return;
  sum->n += past.n_resize;
  sum->b_old += past.b_resize_old;
  sum->b_new += past.b_resize_new;
}

static void add_to_heap(struct tide_tally *heap, const struct tide_tally *did)
{
  heap->n_alloc += did->n_alloc;
  heap->b_alloc += did->b_alloc;
  heap->n_free += did->n_free;
  heap->b_free += did->b_free;
}

// The first look at a block. True: some cells may have changed since the last walk.
static bool look_at_all(struct collecting *c, const struct tide_cell_block *block)
{
  bool any = false;
  for (uint32_t i = 0; i < block->n; i++) {
    uint32_t stack = block->owners[i].stack;
    c->wanted[i] = false;
    if (!stack)
      continue;
    struct first_look *first = &c->first[i];
    look_first(&block->cells[i], first);
    c->wanted[i] = !is_as_seen(c->intervals, cell_at(c->intervals, block->first + i),
                               tide_stamp_interval(first->stamp), &first->did);
    any |= c->wanted[i];
    if (first->did.n_alloc != first->did.n_free || first->did.b_alloc != first->did.b_free)
      c->intervals->n_live++;
    if (c->view->kinds[stack] != TIDE_SITE_PAGES) {
      int64_t bytes = (int64_t)(first->did.b_alloc - first->did.b_free);
      add_to_heap(&c->intervals->heap, &first->did);
      tide_top_cells_offer(&c->intervals->top,
                           (struct tide_top_cell){block->first + i, stack, bytes});
    }
  }
  return any;
}

static struct tide_interval_block *block_at(struct tide_intervals *intervals, uint32_t first)
{
  size_t at = first / TIDE_STORE_BLOCK_CELLS, before = intervals->n_blocks;
  if (at >= before) {
    intervals->n_blocks = at + at / 2 + 16;
    intervals->blocks =
        tide_realloc_array(intervals->blocks, intervals->n_blocks, sizeof *intervals->blocks);
    memset(intervals->blocks + before, 0,
           (intervals->n_blocks - before) * sizeof *intervals->blocks);
  }
  return &intervals->blocks[at];
}

// Annexes are far from the cells, and most cells of many did nothing since the last walk: what
// their resizes add up to is remembered. A resize may show there a little later than in the cell,
// so the first walk that finds nothing new looks as well.
static void sum_resizes(struct collecting *c, const struct tide_cell_block *block, bool is_changed)
{
  struct tide_interval_block *seen = block_at(c->intervals, block->first);
  if (is_changed || !seen->is_settled || seen->first != block->first || seen->n != block->n) {
    *seen = (struct tide_interval_block){
        .first = block->first, .n = block->n, .is_settled = !is_changed};
    for (uint32_t i = 0; i < block->n; i++) {
      uint32_t stack = block->owners[i].stack;
      if (stack && c->view->kinds[stack] != TIDE_SITE_PAGES)
        tide_resizes_add(&seen->resizes, c->view, &block->cells[i]);
    }
  }
  c->intervals->resizes.n += seen->resizes.n;
  c->intervals->resizes.b_old += seen->resizes.b_old;
  c->intervals->resizes.b_new += seen->resizes.b_new;
}

static void take_block(void *context, const struct tide_cell_block *block)
{
  struct collecting *c = context;
  bool is_changed = look_at_all(c, block);
  sum_resizes(c, block, is_changed);
  if (!is_changed)
    return;
  const struct tide_cell *now = tide_store_view_cells_now(c->view, block);
  for (uint32_t i = 0; i < block->n; i++) {
    if (!c->wanted[i])
      continue;
    struct tide_interval_cell *cell = cell_at(c->intervals, block->first + i);
    struct tide_interval_wide seen = seen_of(c->intervals, cell);
    c->id = block->first + i;
    take_cell(c, &c->first[i], block->owners[i].stack, &now[i], &seen);
    note_seen(c->intervals, cell, &seen);
  }
}

void tide_intervals_collect(struct tide_intervals *intervals, struct tide_store_view *view,
                            uint32_t before, tide_interval_take *take, void *context)
{
  struct collecting c = {
      .intervals = intervals,
      .view = view,
      .before = before,
      .take = take,
      .context = context,
      .first = tide_alloc_array(TIDE_STORE_BLOCK_CELLS, sizeof *c.first),
      .wanted = tide_alloc_array(TIDE_STORE_BLOCK_CELLS, sizeof *c.wanted),
  };
  intervals->n_live = 0;
  intervals->top.n = 0;
  intervals->heap = (struct tide_tally){0};
  intervals->resizes = (struct tide_resizes){0};
  tide_store_view_map(view); // a copy could be made of two moments, and in any order
  tide_store_view_cells(view, take_block, &c);
  free(c.first);
  free(c.wanted);
}

// ---- late frees ----
//
// Chunks are read by pread like everything else of a store; only their state is written back.

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

static uint32_t settled_interval(const uint32_t *edges, size_t n_edges, uint32_t interval)
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
    row.born = settled_interval(edges, n_edges, row.born);
    row.freed = settled_interval(edges, n_edges, row.freed);
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
