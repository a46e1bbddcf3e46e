// SPDX-License-Identifier: Apache-2.0
//
// Ad hoc events of the program (tidemark.h): counted at its stack (record/event.c), and their sums,
// which are those over the store's cells of events.
#include "ask/ask.h"
#include "ask/now.h"
#include "record/record.h"
#include "store/annex.h"

#include <errno.h>
#include <string.h>
#include <tidemark/tidemark.h>

// A signal handler that came while the recorder was at work in this thread.
static bool is_at_work(const struct tide_seat *seat)
{
  const struct tide_thread *t = seat->thread;
  return tide_boot_ready() && (seat->phase == TIDE_PHASE_BUSY || (t && t->self == t && !t->idle));
}

long tide_ask_event(struct tide_seat *seat, uint64_t weight, struct tide_regs caller)
{
  if (TIDE_UNLIKELY(is_at_work(seat)))
    return -EBUSY;
  if (TIDE_UNLIKELY(!tide_boot_ready()) && !tide_boot(seat))
    return -ENODATA;
  return tide_event_record(seat, weight, caller) ? 0 : -ENODATA;
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

long tide_ask_event_stats(struct tide_seat *seat, void *stats, size_t bytes)
{
  struct tidemark_event_stats sum = {0};
  bool is_known = tide_boot(seat);
  uint32_t n_cells = is_known ? tide_load_acquire(&tide_store.n_cells) : 0;
  for (uint32_t id = TIDE_FIRST_CELL; id < n_cells; id++)
    add_events(id, &sum);
  size_t n = bytes < sizeof sum ? bytes : sizeof sum;
  memcpy(stats, &sum, n);
  memset((char *)stats + n, 0, bytes - n);
  return is_known ? 0 : -ENODATA;
}
