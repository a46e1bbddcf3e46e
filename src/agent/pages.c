// SPDX-License-Identifier: Apache-2.0
//
// What the program maps itself, as the preload library has it (preload/hooks_pages.c): what an
// allocator maps is turned away, since its thread is inside, and so is what libc maps by itself,
// as far as libc is a library: its code is told by its range. An unmap is booked before the call,
// because afterwards the range may be another thread's. What a Rust program's own allocator maps is
// recorded, too, as of whoever called that: some of its calls may be seen by nobody, being inlined.
#include "agent/agent.h"

#include "record/record.h"
#include "rt/sys.h"

#include <sys/mman.h>

// Beneath the frames of a hook no stack is walked.
TIDE_HOT struct tide_regs regs_of(const struct tide_agent_seat *seat,
                                  const struct tide_agent_hook *hook,
                                  const struct tide_agent_frame *f)
{
  const struct tide_agent_frame *outer = seat->rusts;
  struct tide_regs regs = outer ? TIDE_FRAME_REGS(outer) : TIDE_FRAME_REGS(f);
  regs.pc |= hook->tag;
  return regs;
}

static uint64_t hooked_map(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                           const struct tide_agent_frame *f)
{
  uint64_t p = tide_agent_call(hook, f);
  if (p != (uint64_t)MAP_FAILED)
    tide_pages_mapped(&seat->seat, p, TIDE_FRAME_ARGUMENT(f, 1), regs_of(seat, hook, f));
  return p;
}

static uint64_t hooked_unmap(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                             const struct tide_agent_frame *f)
{
  uint64_t at = TIDE_FRAME_ARGUMENT(f, 0), bytes = TIDE_FRAME_ARGUMENT(f, 1);
  if (!(at & (tide_sys_page_bytes - 1)) && bytes)
    tide_pages_unmapped(&seat->seat, at, bytes);
  return tide_agent_call(hook, f);
}

static uint64_t remap(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                      const struct tide_agent_frame *f)
{
  uint64_t old = TIDE_FRAME_ARGUMENT(f, 0), old_bytes = TIDE_FRAME_ARGUMENT(f, 1);
  uint64_t p = tide_agent_call(hook, f);
  if (p == (uint64_t)MAP_FAILED)
    return p;
  // Size 0 duplicates a shared mapping: the old one stays.
  if (TIDE_FRAME_ARGUMENT(f, 3) & MREMAP_DONTUNMAP)
    old_bytes = 0;
  tide_pages_remapped(&seat->seat, old, old_bytes, p, TIDE_FRAME_ARGUMENT(f, 2),
                      regs_of(seat, hook, f));
  return p;
}

// brk and sbrk say different things: the kernel knows what came of either.
static uint64_t move_break(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                           const struct tide_agent_frame *f)
{
  long from = TIDE_SYS(SYS_brk, 0);
  uint64_t ret = tide_agent_call(hook, f);
  long to = TIDE_SYS(SYS_brk, 0);
  if (to > from && from > 0)
    tide_pages_mapped(&seat->seat, (uint64_t)from, (uint64_t)(to - from), regs_of(seat, hook, f));
  else if (to < from && to > 0)
    tide_pages_unmapped(&seat->seat, (uint64_t)to, (uint64_t)(from - to));
  return ret;
}

uint64_t tide_agent_paging(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                           const struct tide_agent_frame *f)
{
  if (tide_agent_is_by_itself(hook, f))
    return tide_agent_call(hook, f);
  switch (hook->role) {
  case TIDE_ROLE_MAP: return hooked_map(seat, hook, f);
  case TIDE_ROLE_UNMAP: return hooked_unmap(seat, hook, f);
  case TIDE_ROLE_REMAP: return remap(seat, hook, f);
  case TIDE_ROLE_BREAK: return move_break(seat, hook, f);
  default: return tide_agent_call(hook, f);
  }
}
