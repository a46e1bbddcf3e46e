// SPDX-License-Identifier: Apache-2.0
//
// The program asks, by its door (tidemark.h): a function of its own that does nothing, and that is
// hooked as an allocator's is. So nothing of the agent's is ever in the program's hands: a thread
// that asks is in a hook, for which a tracer that takes the agent away waits.
#include "agent/agent.h"

#include "ask/ask.h"

#include <errno.h>
#include <tidemark/tidemark.h>

struct asked {
  int what, k;
  void *p, *q;
  uint64_t n;
};

static long tell_pools(struct tide_agent_seat *s, const struct asked *a, struct tide_regs caller)
{
  struct tide_seat *seat = &s->seat;
  struct tide_asking *own = &s->asking;
  switch (a->what) {
  case tidemark_asks_pool_begin: return tide_ask_pool_begin(seat, own);
  case tidemark_asks_pool_end: return tide_ask_pool_end(seat, own);
  case tidemark_asks_block_alloc: return tide_ask_block_alloc(seat, own, a->p, a->n, caller);
  case tidemark_asks_block_free: return tide_ask_block_free(seat, own, a->p);
  case tidemark_asks_blocks_free: return tide_ask_blocks_free(seat, own, a->p, a->n);
  default: return -ENOSYS; // of a header that is newer
  }
}

static long answer_for(struct tide_agent_seat *s, const struct asked *a, struct tide_regs caller)
{
  struct tide_seat *seat = &s->seat;
  switch (a->what) {
  case tidemark_asks_pprof_write: return tide_ask_pprof_write(seat, a->k);
  case tidemark_asks_stats: return tide_ask_stats(seat, a->k, a->p, a->n);
  case tidemark_asks_region_begin: return tide_ask_region_begin(seat, a->p, a->n, a->k);
  case tidemark_asks_region_read: return tide_ask_region_read(seat, a->p, a->q, a->n);
  case tidemark_asks_region_end: return tide_ask_region_end(seat, a->p, a->q, a->n);
  case tidemark_asks_region_check: return tide_ask_region_check(seat, a->p, a->k, a->n, a->q);
  case tidemark_asks_mark: return tide_ask_mark(seat, a->p);
  case tidemark_asks_pause: return tide_ask_pause(seat);
  case tidemark_asks_resume: return tide_ask_resume(seat);
  case tidemark_asks_snapshot: return tide_ask_snapshot(seat);
  case tidemark_asks_dump: return tide_ask_dump(seat, a->p);
  case tidemark_asks_scope_begin: return tide_ask_scope_begin(seat, &s->asking, a->p);
  case tidemark_asks_scope_end: return tide_ask_scope_end(seat, &s->asking);
  case tidemark_asks_event: return tide_ask_event(seat, a->n, caller);
  case tidemark_asks_event_stats: return tide_ask_event_stats(seat, a->p, a->n);
  default: return tell_pools(s, a, caller);
  }
}

// In `ret` the place, or why it is not answered.
TIDE_COLD static struct tide_agent_seat *find_asking_seat(uint64_t sp, long *ret)
{
  struct tide_agent_seat *seat = tide_agent_seat();
  *ret = seat ? -EBUSY : -ENODATA;
  return seat && (!seat->place.inside || tide_agent_has_jumped(seat, sp)) ? seat : NULL;
}

TIDE_AGENT_ENTRY long tide_agent_ask(int what, const void *p, void *q, uint64_t n, int k,
                                     const struct tide_agent_hook *hook)
{
  struct tide_regs caller = TIDE_CALLER_REGS();
  struct asked asked = {.what = what, .k = k, .p = (void *)p, .q = q, .n = n};
  long answer;
  (void)hook;
  if (TIDE_UNLIKELY(!tide_agent_may_look()))
    return -ENOSYS;
  struct tide_agent_seat *seat = tide_agent_seat_at_hand();
  if (TIDE_UNLIKELY(!seat) && !(seat = find_asking_seat(caller.sp, &answer)))
    return answer;
  tide_agent_begin(seat, TIDE_AGENT_SP_HERE());
  answer = answer_for(seat, &asked, caller);
  tide_agent_end(seat);
  return answer;
}
