// SPDX-License-Identifier: Apache-2.0
//
// Ad hoc events of the program (tidemark.h): counted at its stack (record/event.c), and their sums,
// which are those over the store's cells of events.
#include "preload/hook.h"
#include "preload/now.h"
#include "store/annex.h"

#include <errno.h>
#include <string.h>
#pragma GCC visibility push(default)
#include <tidemark/tidemark.h>
#pragma GCC visibility pop

static int refuse_with(int error)
{
  errno = error;
  return -1;
}

// A signal handler that came while the recorder was at work in this thread.
static bool is_at_work(void)
{
  const struct tide_seat *seat = &tide_self;
  const struct tide_thread *t = seat->thread;
  return tide_boot_ready() && (seat->phase == TIDE_PHASE_BUSY || (t && t->self == t && !t->idle));
}

int tidemark_v1_event(uint64_t weight)
{
  int error = errno;
  if (TIDE_UNLIKELY(is_at_work()))
    return refuse_with(EBUSY);
  if (TIDE_UNLIKELY(!tide_boot_ready()) && !tide_boot(&tide_self))
    return refuse_with(ENODATA);
  if (!tide_event_record(&tide_self, weight, TIDE_CALLER_REGS()))
    return refuse_with(ENODATA);
  errno = error;
  return 0;
}

static void add_events(uint32_t id, struct tidemark_event_stats *sum)
{
  const struct tide_owner *owner = tide_owner_at(id);
  if (!tide_load_acquire(&owner->stack) || owner->family != TIDE_FAMILY_EVENTS)
    return;
  const struct tide_ends *ends = tide_ends_find(&tide_store.cells[id]);
  if (!ends)
    return;
  sum->events += tide_load_relaxed(&ends->n_events);
  sum->weight += tide_load_relaxed(&ends->w_events);
}

int tidemark_v1_event_stats(void *stats, size_t bytes)
{
  struct tidemark_event_stats sum = {0};
  bool is_known = tide_boot(&tide_self);
  uint32_t n_cells = is_known ? tide_load_acquire(&tide_store.n_cells) : 0;
  for (uint32_t id = TIDE_FIRST_CELL; id < n_cells; id++)
    add_events(id, &sum);
  size_t n = bytes < sizeof sum ? bytes : sizeof sum;
  memcpy(stats, &sum, n);
  memset((char *)stats + n, 0, bytes - n);
  return is_known ? 0 : refuse_with(ENODATA);
}
