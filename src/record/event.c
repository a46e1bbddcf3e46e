// SPDX-License-Identifier: Apache-2.0
//
// Ad hoc events: what a program counts itself, with weights, by stack. Each stack has a cell of its
// own for them (store/layout.h, invariant 9), which the tag of its pc tells from that of its blocks
// (unwind/walk.h), so that the quick ways of capture serve events, too. Of samples, events are
// none: all of them are counted.
#include "record/record.h"

#include "store/annex.h"

// False: there is no room for one of its own.
static bool is_of_events(const struct tide_cell *c)
{
  const struct tide_owner *owner = c ? tide_owner_at((uint32_t)tide_cell_index(c)) : NULL;
  return owner && owner->family == TIDE_FAMILY_EVENTS;
}

static void count_event(struct tide_thread *t, uint64_t weight, uint64_t now, struct tide_regs r)
{
  r.pc |= (uint64_t)TIDE_FAMILY_EVENTS << TIDE_PC_TAG_SHIFT;
  struct tide_cell *c = tide_capture(&t->unwind, r);
  if (TIDE_UNLIKELY(!is_of_events(c))) {
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
    return;
  }
  struct tide_ends *ends = tide_ends_of(&t->writer, c);
  ends->n_events++;
  ends->w_events += weight;
  c->t_last = now;
}

bool tide_event_record(struct tide_seat *seat, uint64_t weight, struct tide_regs r)
{
  struct tide_turn turn;
  struct tide_thread *t = tide_enter_either(seat, &turn);
  if (!t)
    return false;
  bool is_on = !tide_boot_is_paused();
  if (is_on && turn.seat)
    tide_thread_know_stack(t);
  if (is_on)
    count_event(t, weight, turn.seat ? turn.now : t->clock.now, r);
  tide_leave_either(&turn);
  return is_on;
}
