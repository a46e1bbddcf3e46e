// SPDX-License-Identifier: Apache-2.0
//
// Known mappings as a sorted array of ranges under a lock: these events are rare and each is a
// system call anyway. An unmap may cut a range short or in two; the second half carries no count,
// so that one mapping is one map and one unmap however it goes.
#include "record/record.h"

#include "record/record_inside.h"
#include "record/thread.h"
#include "rt/sys.h"
#include "store/book.h"

#include <string.h>

static struct tide_page_table known;
static uint64_t capacity;
static struct tide_lock lock;

void tide_pages_after_fork(void)
{
  lock.held = 0;
  known = (struct tide_page_table){0}; // wiped
  capacity = 0;
}

uint64_t tide_pages_table(void)
{
  return (uint64_t)&known;
}

static bool room_for_one(void)
{
  if (known.n < capacity)
    return true;
  uint64_t bigger = capacity ? capacity * 2 : 256;
  struct tide_page_range *fresh = tide_sys_map_private(bigger * sizeof *fresh);
  if (!fresh)
    return false;
  if (known.ranges) {
    memcpy(fresh, known.ranges, known.n * sizeof *fresh);
    tide_sys_unmap(known.ranges, capacity * sizeof *known.ranges);
  }
  known.ranges = fresh;
  capacity = bigger;
  return true;
}

// Index of the first range that ends after address.
static uint64_t first_after(uint64_t address)
{
  uint64_t lo = 0, hi = known.n;
  while (lo < hi) {
    uint64_t mid = (lo + hi) / 2;
    if (known.ranges[mid].end <= address)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

static bool insert_at(uint64_t i, struct tide_page_range range)
{
  if (!room_for_one())
    return false;
  memmove(&known.ranges[i + 1], &known.ranges[i], (known.n - i) * sizeof *known.ranges);
  known.ranges[i] = range;
  known.n++;
  return true;
}

static void remove_at(uint64_t i)
{
  memmove(&known.ranges[i], &known.ranges[i + 1], (known.n - i - 1) * sizeof *known.ranges);
  known.n--;
}

static void gone(struct tide_thread *t, const struct tide_page_range *range, uint64_t bytes,
                 bool whole)
{
  struct tide_store_header *h = tide_store.header;
  struct tide_cell *c = tide_book_cell_of(&t->writer, range->cell);
  bool counts = whole && range->counts;
  if (!c)
    return;
  struct tide_ends *ends = tide_ends_of(&t->writer, c);
  uint32_t interval = tide_cell_fold(&t->writer, c);
  struct tide_late_row *late =
      range->interval != interval
          ? tide_late_row(&t->writer.lates, tide_cell_index(c), range->interval, interval)
          : NULL;
  int64_t live = tide_cell_live(c);
  if (live > ends->high_bytes)
    ends->high_bytes = live;
  c->n_free += counts;
  c->b_free += bytes;
  if (late) {
    late->n_blocks += counts; // none for a part of one
    late->bytes += bytes;
  }
  tide_add_relaxed(&h->page_live_bytes, -(int64_t)bytes);
  tide_add_relaxed(&h->page_n_unmap, counts);
  tide_add_relaxed(&h->page_b_unmap, bytes);
}

static void unmap(struct tide_thread *t, uint64_t start, uint64_t end)
{
  uint64_t i = first_after(start);
  while (i < known.n && known.ranges[i].start < end) {
    struct tide_page_range *r = &known.ranges[i];
    if (r->start < start && r->end > end) { // a hole in the middle
      struct tide_page_range rest = {end, r->end, r->cell, 0, r->interval};
      if (!insert_at(i + 1, rest))
        return;
      r = &known.ranges[i];
      r->end = start;
      gone(t, r, end - start, false);
      return;
    }
    uint64_t from = r->start > start ? r->start : start, to = r->end < end ? r->end : end;
    bool whole = from == r->start && to == r->end;
    gone(t, r, to - from, whole);
    if (whole) {
      remove_at(i);
      continue;
    }
    if (from == r->start)
      r->start = to;
    else
      r->end = from;
    i++;
  }
}

static void map(struct tide_thread *t, uint64_t start, uint64_t end, struct tide_regs r)
{
  struct tide_store_header *h = tide_store.header;
  enum tide_walk_end how;
  uint64_t n = tide_unwind_walk(&t->unwind, r, TIDE_HASH_SEED_PAGES, &how);
  struct tide_cell *c = tide_intern(t, t->unwind.walk, n, TIDE_NODE_ROOT_PAGES);
  if (!c)
    return;
  struct tide_page_range range = {start, end, (uint32_t)(c - tide_store.cells), 1, 0};
  if (!room_for_one())
    return;
  range.interval = (uint16_t)tide_cell_fold(&t->writer, c);
  insert_at(first_after(start), range);
  c->n_alloc++;
  c->b_alloc += end - start;
  c->t_last = tide_cycles() >> TIDE_TICK_SHIFT;
  tide_sizes_add(&t->writer, c, tide_size_bucket(end - start));
  int64_t live = tide_add_relaxed(&h->page_live_bytes, (int64_t)(end - start));
  live += (int64_t)(end - start);
  int64_t max = tide_load_relaxed(&h->page_max_bytes);
  while (live > max && !__atomic_compare_exchange_n(&h->page_max_bytes, &max, live, false,
                                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
  tide_add_relaxed(&h->page_n_map, 1);
  tide_add_relaxed(&h->page_b_map, end - start);
}

static bool is_known(uint64_t start, uint64_t end)
{
  uint64_t i = first_after(start);
  return i < known.n && known.ranges[i].start < end;
}

// While recording is off only what was known before stays so.
void tide_pages_remapped(struct tide_seat *seat, uint64_t old, uint64_t old_bytes, uint64_t start,
                         uint64_t bytes, struct tide_regs r)
{
  struct tide_turn turn;
  struct tide_thread *t = tide_enter_either(seat, &turn);
  if (!t)
    return;
  uint64_t end = start + tide_sys_whole_pages(bytes);
  uint64_t old_end = old + tide_sys_whole_pages(old_bytes);
  tide_lock_take(&lock);
  bool stays = !tide_boot_is_paused() || (old_bytes && is_known(old, old_end));
  if (old_bytes)
    unmap(t, old, old_end);
  unmap(t, start, end);
  if (stays)
    map(t, start, end, r);
  tide_lock_drop(&lock);
  tide_leave_either(&turn);
}

void tide_pages_mapped(struct tide_seat *seat, uint64_t start, uint64_t bytes, struct tide_regs r)
{
  tide_pages_remapped(seat, 0, 0, start, bytes, r);
}

void tide_pages_unmapped(struct tide_seat *seat, uint64_t start, uint64_t bytes)
{
  struct tide_turn turn;
  struct tide_thread *t = tide_enter_either(seat, &turn);
  if (!t)
    return;
  tide_lock_take(&lock);
  unmap(t, start, start + tide_sys_whole_pages(bytes));
  tide_lock_drop(&lock);
  tide_leave_either(&turn);
}
