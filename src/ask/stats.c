// SPDX-License-Identifier: Apache-2.0
//
// Numbers for the program itself (tidemark.h): what its heap has come to, and what has changed in a
// region. Those of the process since its beginning are the sums over the store's cells; all others
// are tallied as they happen (record/tally.h).
//
// What is not known exactly is not told: of samples, of a time that recording was off for a while,
// of one in which events were lost.
#include "ask/ask.h"
#include "ask/now.h"
#include "ask/region.h"
#include "record/record.h"
#include "store/annex.h"

#include <errno.h>
#include <string.h>
#include <tidemark/tidemark.h>

_Static_assert((int)TIDEMARK_PROCESS == TIDE_TALLY_PROCESS, "as the header has it");
_Static_assert((int)TIDEMARK_THREAD == TIDE_TALLY_THREAD, "as the header has it");

_Static_assert(sizeof(struct tide_region) <= sizeof(struct tidemark_region), "there is room");

// Where numbers go that the caller wants: to him, if he knows as many as there are.
static struct tidemark_stats *place_for(void *to, size_t bytes, struct tidemark_stats *spare)
{
  return to && bytes == sizeof *spare ? to : spare;
}

// As much of it as the caller knows; what he knows beyond is 0, and so is all if it failed.
static long hand_over(struct tidemark_stats *stats, void *to, size_t bytes, long error)
{
  if (error)
    memset(stats, 0, sizeof *stats);
  if (to && to != stats) {
    size_t n = bytes < sizeof *stats ? bytes : sizeof *stats;
    memcpy(to, stats, n);
    memset((char *)to + n, 0, bytes - n);
  }
  return error;
}

// ---- what is known ----

static uint64_t n_lost(void)
{
  const struct tide_store_header *h = tide_store.header;
  return tide_load_relaxed(&h->n_lost_busy) + tide_load_relaxed(&h->n_lost_full);
}

static uint32_t n_pauses(void)
{
  return tide_load_relaxed(&tide_store.header->switches.n_pauses);
}

// Is all of this process recorded, at this moment?
static bool is_recording(struct tide_seat *seat)
{
  return tide_boot(seat) && !tide_samples.bits && !tide_boot_is_paused();
}

// Of one that may have to boot, or be turned away. As a rule, each is an event that is lost.
TIDE_COLD static long enter_slowly(struct tide_seat *seat, struct tide_thread **ret)
{
  const struct tide_thread *t = seat->thread;
  if (tide_boot_ready() && (seat->phase == TIDE_PHASE_BUSY || (t && t->self == t && !t->idle)))
    return -EBUSY;
  if (!is_recording(seat) || seat->phase == TIDE_PHASE_GONE)
    return -ENODATA;
  *ret = tide_enter(seat);
  return *ret ? 0 : -ENODATA;
}

// 0, and the thread has entered. It looks up for nothing, as it books nothing.
TIDE_HOT long enter_region(struct tide_seat *seat, struct tide_thread **ret)
{
  struct tide_thread *t = seat->thread;
  if (TIDE_UNLIKELY(!t || !t->idle))
    return enter_slowly(seat, ret);
  bool is_off = tide_load_relaxed(&tide_boot_state.now) == TIDE_BOOT_OFF;
  __atomic_thread_fence(__ATOMIC_ACQUIRE); // as tide_boot_is_paused() has it
  if (TIDE_UNLIKELY(is_off || tide_load_relaxed(&tide_store.header->paused)))
    return -ENODATA;
  t->idle = 0;
  TIDE_COMPILER_BARRIER();
  *ret = t;
  return 0;
}

long tide_region_enter(struct tide_seat *seat, struct tide_thread **ret)
{
  return enter_region(seat, ret);
}

// Nothing happened that is to be noted. One that is tallied still owes what it did; if no region is
// open any more, its next event finds that out.
TIDE_HOT void leave_region(struct tide_thread *t)
{
  if (TIDE_UNLIKELY(!t->tallied.is_on || t->borrowed || tide_total_calls(&t->writer))) {
    tide_leave(t);
    return;
  }
  TIDE_COMPILER_BARRIER();
  t->idle = 1;
}

// ---- the process ----

struct sums {
  uint64_t n_alloc, b_alloc, n_free, b_free;
  uint64_t n_resize, b_resize_old, b_resize_new;
  struct tide_live_most peak;
};

static const struct tide_past *past_of(const struct tide_ends *ends)
{
  uint32_t id = tide_load_relaxed(&ends->past);
  id &= (uint32_t)(tide_store.annex_mask / TIDE_STREAK_ANNEX_UNIT);
  return id ? tide_past_at(id) : NULL;
}

// Its share of the peak: layout.h, invariant 3.
static void add_share(struct sums *sums, const struct tide_cell *c, const struct tide_ends *ends)
{
  struct tide_live_most share = {tide_cell_live(c), (int64_t)(c->n_alloc - c->n_free)};
  uint32_t epoch = tide_load_relaxed(&tide_store.header->stamp.epoch);
  if ((int32_t)(c->stamp.epoch - epoch) >= 0) {
    bool at_peak = tide_cell_is_single(c) && c->stamp.interval & TIDE_SINGLE_AT_PEAK;
    share = (struct tide_live_most){at_peak ? (int64_t)c->b_alloc : 0, at_peak};
    if (ends && !tide_cell_is_single(c))
      share = (struct tide_live_most){ends->peak_bytes, ends->peak_blocks};
  }
  sums->peak.bytes += share.bytes;
  sums->peak.blocks += share.blocks;
}

static void add_cell(struct sums *sums, const struct tide_cell *c)
{
  const struct tide_ends *ends = tide_ends_find(c);
  const struct tide_past *past = ends && !tide_cell_is_single(c) ? past_of(ends) : NULL;
  sums->n_alloc += c->n_alloc;
  sums->b_alloc += c->b_alloc;
  sums->n_free += c->n_free;
  sums->b_free += c->b_free;
  if (past) {
    sums->n_resize += past->n_resize;
    sums->b_resize_old += past->b_resize_old;
    sums->b_resize_new += past->b_resize_new;
  }
  add_share(sums, c, ends);
}

static uint64_t grown_bytes(void)
{
  uint32_t n = tide_load_acquire(&tide_store.n_slots);
  uint64_t bytes = 0;
  for (uint32_t i = 1; i < n; i++)
    bytes += tide_load_relaxed(&tide_slot_at(i)->b_grown);
  return bytes;
}

// Among the store's numbers a resize is an allocation and an end.
static struct tidemark_stats stats_of(const struct sums *s)
{
  uint64_t grown = grown_bytes(), more = s->b_resize_new - s->b_resize_old;
  struct tidemark_stats stats = {
      .allocations = s->n_alloc - s->n_resize,
      .deallocations = s->n_free - s->n_resize,
      .reallocations = s->n_resize,
      .bytes_allocated = s->b_alloc - s->b_resize_new + grown,
      .bytes_deallocated = s->b_free - s->b_resize_old + grown - more,
      .bytes_reallocated = (int64_t)more,
      .current_blocks = (int64_t)(s->n_alloc - s->n_free),
      .current_bytes = (int64_t)(s->b_alloc - s->b_free),
      .max_blocks = s->peak.blocks,
      .max_bytes = s->peak.bytes,
      .bytes_fresh = s->b_alloc - s->b_resize_new,
      .bytes_resized = s->b_resize_new,
  };
  if (stats.current_bytes > tide_load_relaxed(&tide_store.header->max_bytes) ||
      stats.current_bytes > stats.max_bytes) { // it is the peak
    stats.max_blocks = stats.current_blocks;
    stats.max_bytes = stats.current_bytes;
  }
  return stats;
}

static long process_stats(struct tide_seat *seat, struct tidemark_stats *ret)
{
  if (!is_recording(seat) || n_pauses() || n_lost())
    return -ENODATA;
  struct sums sums = {0};
  uint32_t n_cells = tide_load_acquire(&tide_store.n_cells);
  uint32_t n_nodes = tide_load_acquire(&tide_store.n_nodes);
  for (uint32_t id = TIDE_FIRST_CELL; id < n_cells; id++) {
    const struct tide_owner *owner = tide_owner_at(id);
    uint32_t stack = tide_load_acquire(&owner->stack);
    if (!stack || stack >= n_nodes || !tide_now_is_of_heap(stack))
      continue;
    struct tide_cell cell = tide_now_cell(id, owner->slot);
    add_cell(&sums, &cell);
  }
  *ret = stats_of(&sums);
  return 0;
}

// ---- regions ----

static struct tidemark_stats stats_of_counts(const struct tide_region_counts *c,
                                             const struct tide_live_most *most)
{
  return (struct tidemark_stats){
      .allocations = c->n_alloc,
      .deallocations = c->n_free,
      .reallocations = c->n_resize,
      .bytes_allocated = c->b_alloc,
      .bytes_deallocated = c->b_free,
      .bytes_reallocated = c->b_resize,
      .current_blocks = (int64_t)(c->n_alloc - c->n_free),
      .current_bytes = (int64_t)(c->b_alloc - c->b_free),
      .max_blocks = most->blocks,
      .max_bytes = most->bytes,
      .bytes_fresh = c->b_fresh,
      .bytes_resized = c->b_resized,
  };
}

static void open_region(struct tide_thread *t, struct tide_region *region, uint32_t whose)
{
  region->whose = whose;
  region->n_pauses = n_pauses();
  region->n_lost = n_lost();
  tide_tally_open(&t->tallied, whose, &region->start);
  tide_store_relaxed(&t->owes, TIDE_OWES_LOOK);
}

TIDE_HOT long read_region(struct tide_thread *t, const struct tide_region *region,
                          struct tidemark_stats *ret)
{
  struct tide_region_counts counts;
  struct tide_live_most most;
  bool is_foreign;
  if (!tide_tally_read(&t->tallied, region->whose, &region->start, &counts, &most, &is_foreign))
    return is_foreign ? -EINVAL : -ENODATA;
  if (region->n_pauses != n_pauses() || region->n_lost != n_lost())
    return -ENODATA;
  *ret = stats_of_counts(&counts, &most);
  return 0;
}

long tide_region_read(struct tide_thread *t, const struct tide_region *region,
                      struct tidemark_stats *ret)
{
  return read_region(t, region, ret);
}

// A thread's own numbers are those of a region that begins when it first asks.
static long thread_stats(struct tide_seat *seat, struct tidemark_stats *ret)
{
  struct tide_thread *t;
  long error = enter_region(seat, &t);
  if (error)
    return error;
  struct tide_thread_tally *own = &t->tallied;
  struct tide_region *since = (struct tide_region *)own->since;
  _Static_assert(sizeof own->since >= sizeof *since, "there is room");
  if (!since->start.id)
    open_region(t, since, TIDE_TALLY_THREAD);
  error = tide_region_read(t, since, ret);
  leave_region(t);
  return error;
}

long tide_ask_stats(struct tide_seat *seat, int whose, void *stats, size_t bytes)
{
  struct tidemark_stats spare, *all = place_for(stats, bytes, &spare);
  long error = whose == TIDEMARK_PROCESS  ? process_stats(seat, all)
               : whose == TIDEMARK_THREAD ? thread_stats(seat, all)
                                          : -EINVAL;
  return hand_over(all, stats, bytes, error);
}

long tide_ask_region_begin(struct tide_seat *seat, void *at, size_t bytes, int whose)
{
  struct tide_region *region = at;
  struct tide_thread *t;
  if ((whose != TIDEMARK_PROCESS && whose != TIDEMARK_THREAD) || bytes < sizeof *region)
    return -EINVAL;
  region->start.id = 0;
  long error = enter_region(seat, &t);
  if (error)
    return error;
  open_region(t, region, (uint32_t)whose);
  leave_region(t);
  return 0;
}

long tide_ask_region_read(struct tide_seat *seat, const void *at, void *stats, size_t bytes)
{
  const struct tide_region *region = at;
  struct tidemark_stats spare, *change = place_for(stats, bytes, &spare);
  struct tide_thread *t;
  long error = region->start.id ? enter_region(seat, &t) : -ENODATA;
  if (!error) {
    error = tide_region_read(t, region, change);
    leave_region(t);
  }
  return hand_over(change, stats, bytes, error);
}

long tide_ask_region_end(struct tide_seat *seat, void *at, void *stats, size_t bytes)
{
  struct tide_region *region = at;
  struct tidemark_stats spare, *change = place_for(stats, bytes, &spare);
  struct tide_thread *t;
  long error = region->start.id ? enter_region(seat, &t) : -ENODATA;
  if (!error) {
    error = read_region(t, region, change);
    tide_tally_close(&t->tallied, region->whose, &region->start);
    tide_store_relaxed(&t->owes, TIDE_OWES_LOOK); // it may have been the last one
    if (error != -EINVAL)                         // another thread's
      region->start.id = 0;
    leave_region(t);
  }
  return hand_over(change, stats, bytes, error);
}
