// SPDX-License-Identifier: Apache-2.0
//
// A place is taken with a compare-and-swap of its thread pointer and never becomes free again, only
// another's: a search for a pointer ends at the first free one.
#include "agent/agent.h"

#include "rt/sys.h"
#include "record/record.h"
#include "store/store.h"

#include <signal.h>

enum { PROBES = 64 };

__attribute__((
    visibility("default"))) struct tide_agent_seat tide_agent_seats[TIDE_AGENT_SEATS] TIDE_BULKY;
static struct tide_lock lock;

// 0 is what musl leaves there when the thread is about to end.
static uint32_t own_tid(uint64_t tp)
{
  int64_t offset = tide_agent_face.tid_offset;
  uint32_t tid = offset ? *(const uint32_t *)(tp + (uint64_t)offset) : 0;
  return tid ? tid : tide_sys_tid();
}

static bool has_ended(uint32_t tid)
{
  return tid && TIDE_SYS(SYS_tgkill, tide_sys_pid(), tid, 0) == -ESRCH;
}

static void seat_begin(struct tide_agent_seat *seat, uint32_t tid)
{
  seat->place.inside = 0;
  seat->rusts = NULL;
  tide_store_relaxed(&seat->place.tid, tid);
}

// The thread before has ended in the middle of nothing: a thread does not end in a hook. What it
// had goes to whoever comes next.
static void take_over(struct tide_agent_seat *seat, uint64_t tp, uint32_t tid)
{
  struct tide_thread *t = seat->seat.thread;
  if (t && t->self == t) // else this is a fork child, in which that memory is wiped
    tide_thread_put_away(&seat->seat);
  seat->seat = (struct tide_seat){0};
  seat->asking = (struct tide_asking){0};
  seat_begin(seat, tid);
  tide_store_release(&seat->place.thread_pointer, tp);
}

// A handler on a stack of its own may be above it, too.
TIDE_COLD bool tide_agent_has_jumped(struct tide_agent_seat *seat, uint64_t sp)
{
  stack_t own;
  if (!tide_agent_is_above(&seat->place, sp) || TIDE_SYS(SYS_sigaltstack, NULL, &own) ||
      own.ss_flags & SS_ONSTACK)
    return false;
  seat->place.inside = 0;
  seat->rusts = NULL;
  if (tide_boot_ready())
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
  return true;
}

bool tide_agent_has_begun;

TIDE_COLD bool tide_agent_may_look_now(void)
{
  tide_agent_has_begun = !tide_agent_face.store_given || tide_agent_has_thread_pointer();
  return tide_agent_has_begun;
}

static struct tide_agent_seat *place_at(uint64_t tp, uint32_t i)
{
  return &tide_agent_seats[(tide_agent_home(tp) + i) % TIDE_AGENT_SEATS];
}

// Somebody else's seat changes hands under a lock, for which nobody waits: in a fork child its
// holder may be gone for good. Who does not get it passes by, and is counted.
static struct tide_agent_seat *find_dead(uint64_t tp, uint32_t tid)
{
  struct tide_agent_seat *found = NULL;
  if (__atomic_exchange_n(&lock.held, 1, __ATOMIC_ACQUIRE))
    return NULL;
  for (uint32_t i = 0; i < PROBES && !found; i++)
    if (has_ended(place_at(tp, i)->place.tid))
      found = place_at(tp, i);
  if (found)
    take_over(found, tp, tid);
  tide_lock_drop(&lock);
  return found;
}

TIDE_COLD struct tide_agent_seat *tide_agent_seat_slowly(uint64_t tp)
{
  uint32_t tid = own_tid(tp);
  for (uint32_t i = 0; i < PROBES; i++) {
    struct tide_agent_seat *seat = place_at(tp, i);
    uint64_t seen = tide_load_acquire(&seat->place.thread_pointer);
    if (!seen && __atomic_compare_exchange_n(&seat->place.thread_pointer, &seen, tp, false,
                                             __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      seat_begin(seat, tid);
      return seat;
    }
    if (seen != tp)
      continue;
    if (seat->place.tid != tid)
      take_over(seat, tp, tid);
    return seat;
  }
  return find_dead(tp, tid);
}
