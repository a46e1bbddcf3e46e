// SPDX-License-Identifier: Apache-2.0
//
// Libraries that are loaded later may bring allocators. The loader calls _dl_debug_state, which is
// empty, when it has mapped them and before anything of them runs: there the supervisor is told, by
// a number in the store, and the thread waits for a tracer that hooks what is new (attach/later.c).
// It waits for a second at the most, for half of one while the supervisor has no beat; where nobody
// answered the last time it does not wait at all. What was not answered for is told in the report.
//
// The loader holds its lock meanwhile: one thread at a time comes here.
#include "agent/agent.h"

#include "record/record.h"
#include "rt/sys.h"

enum { NAP_NS = 250000, MAX_NAPS = 4000, MAX_NAPS_WITHOUT_BEAT = 2000 };

enum { IS_CONSISTENT, IS_REMOVING = 2 }; // r_state of <link.h>

// The loader comes here before it maps or unmaps, and again when it has. What only went brings no
// allocator: a library that takes its place is noticed when it comes.
static bool are_mapped(void)
{
  static bool was_removing;
  const int32_t *state = (const int32_t *)tide_agent_face.loader_state;
  if (!state)
    return true;
  if (*state != IS_CONSISTENT) {
    was_removing = *state == IS_REMOVING;
    return false;
  }
  return !was_removing;
}

// 0: it is not recorded, or nobody would answer.
static uint32_t count_change(struct tide_agent_seat *seat)
{
  uint32_t number = 0;
  struct tide_thread *t = tide_enter(&seat->seat);
  if (!t)
    return 0;
  struct tide_store_header *h = tide_store.header;
  bool was_answered = tide_load_relaxed(&h->objects_answered) == h->objects_changed;
  tide_add_acq_rel(&h->objects_changed, 1);
  if (was_answered && !tide_sys_sandboxed())
    number = tide_load_relaxed(&h->objects_changed);
  tide_leave(t);
  return number;
}

static void await_answer(uint32_t number)
{
  const struct tide_store_header *h = tide_store.header;
  uint32_t beat = tide_load_relaxed(&h->pulse.beat), naps_without_beat = 0;
  for (uint32_t naps = 0; naps < MAX_NAPS; naps++) {
    long nap[2] = {0, NAP_NS};
    if (tide_load_acquire(&h->objects_answered) == number ||
        TIDE_SYS(SYS_nanosleep, nap, 0) == -ENOSYS)
      return;
    uint32_t now = tide_load_relaxed(&h->pulse.beat);
    naps_without_beat = now == beat ? naps_without_beat + 1 : 0;
    beat = now;
    if (naps_without_beat == MAX_NAPS_WITHOUT_BEAT)
      return;
  }
}

void tide_agent_loaded(void)
{
  struct tide_agent_seat *seat = are_mapped() ? tide_agent_seat() : NULL;
  if (!seat || seat->place.inside)
    return;
  seat->place.inside++;
  TIDE_COMPILER_BARRIER();
  uint32_t number = count_change(seat);
  TIDE_COMPILER_BARRIER();
  seat->place.inside--;
  if (!number)
    return;
  // A signal handler's events count meanwhile: as a thread without a place it is here all the same.
  tide_add_acq_rel(&tide_agent_face.n_seatless, 1);
  await_answer(number);
  tide_add_acq_rel(&tide_agent_face.n_seatless, -1);
}
