// SPDX-License-Identifier: Apache-2.0
//
// Windows into the recorder, built into a library of its own for the tests: what the fast capture
// says of the caller's stack, and what a full walk sees.
#include "check.h"

#include "record/record_inside.h"
#include "preload/hook.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int tidemark_check_id(void)
{
  struct tide_thread *t = tide_enter(&tide_self);
  if (!t)
    return -2;
  struct tide_regs r = TIDE_CALLER_REGS();
  enum tide_walk_end end;
  uint64_t n = tide_unwind_walk(&t->unwind, r, TIDE_HASH_SEED, &end);
  void *want = tide_unwind_host->stack_token(&t->unwind, t->unwind.walk, n, end);
  void *got = tide_capture(&t->unwind, r);
  tide_leave(t);
  return want == got && end == TIDE_WALK_WHOLE ? (int)n : -1;
}

EXPORT int tidemark_check_frames(uint64_t *out, int max)
{
  struct tide_thread *t = tide_enter(&tide_self);
  if (!t)
    return -2;
  enum tide_walk_end end;
  int n = (int)tide_unwind_walk(&t->unwind, TIDE_CALLER_REGS(), TIDE_HASH_SEED, &end);
  for (int i = 0; i < n && i < max; i++)
    out[i] = t->unwind.walk[n - 1 - i].key & ~TIDE_RULE_EXACT_PC;
  tide_leave(t);
  return n;
}

static const struct tide_unwind_host *real_host;
static long n_asked;

static void *count_and_ask(struct tide_unwind *u, struct tide_unwind_frame *frames, uint64_t n,
                           enum tide_walk_end end)
{
  n_asked++;
  return real_host->stack_token(u, frames, n, end);
}

EXPORT long tidemark_check_asks(void)
{
  static struct tide_unwind_host counting;
  if (!real_host) {
    real_host = tide_unwind_host;
    counting = *real_host;
    counting.stack_token = count_and_ask;
    tide_unwind_host = &counting;
  }
  long n = n_asked;
  n_asked = 0;
  return n;
}
