// SPDX-License-Identifier: Apache-2.0
//
// Tables of open regions, and the events that are counted for them.
//
// The table of a thread is that thread's alone, within an event: a signal handler is turned away
// meanwhile. That of the process is under the lock.
#include "record/tally.h"

#include "rt/sys.h"
#include "store/store.h"

static struct tide_region_table process_tally TIDE_BULKY;
static struct tide_lock lock;  // for it
static bool process_is_open;   // it has a region; written under the lock, before the pulse
static bool process_was_open;  // ever: else a fork child need not look at the table
static uint64_t image;         // since when, and one more in each fork child
static uint64_t latest_serial; // of a thread; atomic

// ---- a table ----

static void log_event(struct tide_region_table *y, const struct tide_noted *noted, int64_t change)
{
  switch (noted->event) {
  case TIDE_EVENT_NONE: break;
  case TIDE_EVENT_ALLOC:
    tide_tally_log(y, noted->addr, tide_tally_what(noted->cell, (uint64_t)change));
    break;
  case TIDE_EVENT_FREE: tide_tally_log(y, noted->addr, 0); break;
  case TIDE_EVENT_RESIZE:
    tide_tally_log(y, noted->old, 0);
    tide_tally_log(y, noted->addr, tide_tally_what(noted->cell, noted->size));
    break;
  }
}

static void count_event(struct tide_region_table *y, const struct tide_noted *noted, int64_t change)
{
  enum tide_event event = noted->event;
  struct tide_region_counts *c = &y->counts;
  c->n_alloc += event == TIDE_EVENT_ALLOC;
  c->b_fresh += event == TIDE_EVENT_ALLOC ? (uint64_t)change : 0;
  c->n_free += event == TIDE_EVENT_FREE;
  if (event == TIDE_EVENT_RESIZE) {
    c->n_resize++;
    c->b_resize += change;
    c->b_resized += noted->size;
  }
  c->b_alloc += change > 0 ? (uint64_t)change : 0;
  c->b_free += change < 0 ? -(uint64_t)change : 0;
  if (event != TIDE_EVENT_FREE)
    tide_tally_raise(&y->open[y->n_open - 1].most, tide_tally_live(c));
  log_event(y, noted, change);
}

static void remove_open(struct tide_region_table *y, uint32_t i)
{
  if (i)
    tide_tally_raise(&y->open[i - 1].most, y->open[i].most);
  y->n_open--;
  for (; i < y->n_open; i++)
    y->open[i] = y->open[i + 1];
}

// Where there are too many, most were left open by accident: the oldest and the latest stay.
static void add_open(struct tide_region_table *y, struct tide_region_start *ret)
{
  if (!y->log)
    y->log = tide_sys_map_private(TIDE_LOGGED_MOST * sizeof *y->log);
  if (y->n_open == TIDE_OPEN_MOST)
    remove_open(y, TIDE_OPEN_MOST / 2);
  y->open[y->n_open++] = (struct tide_open){++y->last_id, tide_tally_live(&y->counts)};
  ret->id = y->last_id;
  ret->base = y->counts;
  ret->n_logged = y->n_logged;
}

// Most often the latest. n_open: it is not there.
static uint32_t find_open(const struct tide_region_table *y, uint64_t id)
{
  for (uint32_t i = y->n_open; i-- > 0;)
    if (y->open[i].id == id)
      return i;
  return y->n_open;
}

TIDE_HOT bool read_open(const struct tide_region_table *y, const struct tide_region_start *start,
                        struct tide_region_counts *ret_counts, struct tide_live_most *ret_most)
{
  const struct tide_region_counts *c = &y->counts, *base = &start->base;
  uint32_t i = find_open(y, start->id);
  if (i == y->n_open)
    return false;
  struct tide_live_most most = y->open[i].most, then = tide_tally_live(base);
  while (++i < y->n_open)
    tide_tally_raise(&most, y->open[i].most);
  *ret_most = (struct tide_live_most){most.bytes - then.bytes, most.blocks - then.blocks};
  *ret_counts = (struct tide_region_counts){
      .n_alloc = c->n_alloc - base->n_alloc,
      .n_free = c->n_free - base->n_free,
      .n_resize = c->n_resize - base->n_resize,
      .b_alloc = c->b_alloc - base->b_alloc,
      .b_free = c->b_free - base->b_free,
      .b_resize = c->b_resize - base->b_resize,
      .b_fresh = c->b_fresh - base->b_fresh,
      .b_resized = c->b_resized - base->b_resized,
  };
  return true;
}

// ---- a thread ----

static void turn_on(struct tide_thread_tally *own)
{
  own->is_on = true;
  own->held = tide_tally_held(own);
}

// The fence is with the release in open_for_all(): who has read that pulse sees what came before.
static bool all_are_tallied(void)
{
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return tide_load_relaxed(&process_is_open);
}

void tide_tally_adopt(struct tide_thread_tally *own, const struct tide_thread_slot *slot)
{
  own->slot = slot;
  own->is_on = false;
  own->serial = own->since[0] = 0;
  own->tally.n_open = 0;
  if (all_are_tallied())
    turn_on(own);
}

void tide_tally_look(struct tide_thread_tally *own)
{
  if (TIDE_UNLIKELY(!own->is_on && all_are_tallied()))
    turn_on(own);
}

static void count_for_all(const struct tide_noted *noted, int64_t change)
{
  tide_lock_take(&lock);
  if (process_tally.n_open)
    count_event(&process_tally, noted, change);
  tide_lock_drop(&lock);
}

void tide_tally_note(struct tide_thread_tally *own, const struct tide_noted *noted)
{
  bool all = tide_load_relaxed(&process_is_open);
  if (noted->event != TIDE_EVENT_NONE) {
    int64_t change = tide_tally_change(own);
    if (own->tally.n_open)
      count_event(&own->tally, noted, change);
    if (all)
      count_for_all(noted, change);
  }
  own->is_on = own->tally.n_open || all;
}

bool tide_tally_is_own(const struct tide_thread_tally *own)
{
  return own->tally.n_open && !tide_load_relaxed(&process_is_open);
}

void tide_tally_init(uint64_t first)
{
  image = first;
}

void tide_tally_after_fork(void)
{
  if (process_was_open) {
    process_tally.n_open = 0;
    process_tally.log = NULL; // wiped
  }
  process_is_open = process_was_open = false;
  lock.held = 0;
  image++;
}

// ---- regions ----

static uint64_t serial_of(struct tide_thread_tally *own)
{
  if (!own->serial)
    own->serial = tide_add_relaxed(&latest_serial, 1) + 1;
  return own->serial;
}

// Threads that are in an event finish it uncounted: it may as well have been before.
static void open_for_all(struct tide_region_start *ret)
{
  tide_lock_take(&lock);
  add_open(&process_tally, ret);
  bool is_first = !process_is_open;
  process_was_open = true;
  tide_store_relaxed(&process_is_open, true);
  tide_lock_drop(&lock);
  if (is_first)
    __atomic_fetch_add(&tide_store.header->pulse.beat, 1, __ATOMIC_RELEASE);
}

void tide_tally_open(struct tide_thread_tally *own, enum tide_tally_whose whose,
                     struct tide_region_start *ret)
{
  if (!own->is_on)
    turn_on(own);
  ret->image = image;
  if (whose == TIDE_TALLY_PROCESS) {
    open_for_all(ret);
  } else {
    ret->serial = serial_of(own);
    add_open(&own->tally, ret);
  }
}

bool tide_tally_read(struct tide_thread_tally *own, enum tide_tally_whose whose,
                     const struct tide_region_start *start, struct tide_region_counts *ret_counts,
                     struct tide_live_most *ret_most, bool *ret_is_foreign)
{
  *ret_is_foreign = false;
  if (start->image != image)
    return false;
  *ret_is_foreign = whose == TIDE_TALLY_THREAD && start->serial != own->serial;
  if (whose == TIDE_TALLY_THREAD)
    return !*ret_is_foreign && read_open(&own->tally, start, ret_counts, ret_most);
  tide_lock_take(&lock);
  bool is_open = read_open(&process_tally, start, ret_counts, ret_most);
  tide_lock_drop(&lock);
  return is_open;
}

static uint32_t copy_rows(const struct tide_region_table *y, const struct tide_region_start *start,
                          struct tide_region_row *to, uint64_t *ret_n)
{
  uint64_t n = y->n_logged - start->n_logged;
  uint32_t n_kept = y->log ? (uint32_t)(n < TIDE_LOGGED_MOST ? n : TIDE_LOGGED_MOST) : 0;
  for (uint32_t i = 0; i < n_kept; i++)
    to[i] = y->log[(y->n_logged - n_kept + i) % TIDE_LOGGED_MOST];
  *ret_n = n;
  return n_kept;
}

uint32_t tide_tally_rows(struct tide_thread_tally *own, enum tide_tally_whose whose,
                         const struct tide_region_start *start, struct tide_region_row *to,
                         uint64_t *ret_n)
{
  if (whose == TIDE_TALLY_THREAD)
    return copy_rows(&own->tally, start, to, ret_n);
  tide_lock_take(&lock);
  uint32_t n = copy_rows(&process_tally, start, to, ret_n);
  tide_lock_drop(&lock);
  return n;
}

static void close_in(struct tide_region_table *y, uint64_t id)
{
  uint32_t i = find_open(y, id);
  if (i < y->n_open)
    remove_open(y, i);
}

void tide_tally_close(struct tide_thread_tally *own, enum tide_tally_whose whose,
                      const struct tide_region_start *start)
{
  if (start->image != image)
    return;
  if (whose == TIDE_TALLY_THREAD) {
    if (start->serial == own->serial)
      close_in(&own->tally, start->id);
    return;
  }
  tide_lock_take(&lock);
  close_in(&process_tally, start->id);
  if (!process_tally.n_open)
    tide_store_relaxed(&process_is_open, false);
  tide_lock_drop(&lock);
}
