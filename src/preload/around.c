// SPDX-License-Identifier: Apache-2.0
//
// An allocator that the program has put its own functions around (tidemark.h): the Rust crate's
// `Alloc<A>`. What lies within is called from here with the gate held, as another allocator's
// library is, so a block is counted once, whether that one ends in a hooked function (libc's
// malloc) or in code of the program's own (jemalloc under a prefix).
//
// The gate of a thread that has had no event yet, or of a fork child, cannot be held: such a thread
// begins first.
#include "preload/hook.h"

#pragma GCC visibility push(default)
#include <tidemark/tidemark.h>
#pragma GCC visibility pop

static bool is_used;

bool tide_around_is_used(void)
{
  return tide_load_relaxed(&is_used);
}

TIDE_COLD static void begin_first(void)
{
  tide_real_resolve();
  tide_store_relaxed(&is_used, true);
}

// What these calls are booked by.
#define TOLD ((uint64_t)TIDE_TAG_TOLD << TIDE_PC_TAG_SHIFT)

TIDE_HOT struct tide_held hold_ready(struct tide_seat *seat)
{
  if (TIDE_UNLIKELY(!tide_around_is_used()))
    begin_first();
  return tide_hold(seat);
}

void *tidemark_v1_around_alloc(void *(*alloc)(void *), void *given, size_t bytes)
{
  struct tide_held held = hold_ready(&tide_self);
  void *p = alloc(given);
  tide_unhold(&tide_self, held);
  TIDE_RECORD(p, bytes, TOLD);
  return p;
}

void *tidemark_v1_around_resize(void *(*resize)(void *), void *given, void *old, size_t bytes)
{
  struct tide_held held = hold_ready(&tide_self);
  tide_unhold(&tide_self, held);
  struct tide_resize block = tide_resize_begin(&tide_self, old);
  held = tide_hold(&tide_self);
  void *p = resize(given);
  tide_unhold(&tide_self, held);
  if (p)
    tide_resize_done(&tide_self, block, old, p, bytes, TIDE_CALLER_REGS_TAGGED(TOLD));
  else
    tide_resize_failed(&tide_self, block, old);
  return p;
}

void tidemark_v1_around_free(void (*release)(void *), void *given, void *block)
{
  if (block)
    tide_record_free(&tide_self, block);
  struct tide_held held = hold_ready(&tide_self);
  release(given);
  tide_unhold(&tide_self, held);
}
