// SPDX-License-Identifier: Apache-2.0
//
// Pools of the program (tidemark.h): blocks that they hand out (record/pool.h), and the time in
// which a pool sees to its own memory. The gate is held then, as it is while another allocator
// works: what is asked of malloc meanwhile is the pool's business.
#include "ask/ask.h"
#include "record/pool.h"
#include "rt/sys.h"

#include <errno.h>

enum { ADDRESS_BITS = 48 }; // no block is larger: sums of what is impossible would run over

// A signal handler that came while the recorder was at work in this thread; or a pool is.
static bool is_turned_away(const struct tide_seat *seat, const struct tide_asking *own)
{
  const struct tide_thread *t = seat->thread;
  return own->pool_depth || seat->phase == TIDE_PHASE_BUSY || (t && t->self == t && !t->idle);
}

// 0: what is told can be recorded.
static long pool_error(struct tide_seat *seat, const struct tide_asking *own)
{
  if (!tide_boot_ready() && !tide_boot(seat))
    return -ENODATA;
  return is_turned_away(seat, own) ? -EBUSY : 0;
}

long tide_ask_pool_begin(struct tide_seat *seat, struct tide_asking *own)
{
  if (own->pool_depth) {
    own->pool_depth++;
    return 0;
  }
  long error = pool_error(seat, own);
  if (error)
    return error;
  own->pool_held = tide_hold(seat);
  own->pool_depth = 1;
  return 0;
}

long tide_ask_pool_end(struct tide_seat *seat, struct tide_asking *own)
{
  if (!own->pool_depth)
    return -EINVAL;
  const struct tide_thread *t = own->pool_held.thread;
  bool is_wiped = t && t->self != t; // a fork child's: it begins anew
  if (!--own->pool_depth && !is_wiped)
    tide_unhold(seat, own->pool_held);
  return 0;
}

// Once for each process.
static void say_counted(void)
{
  static const char words[] =
      "tidemark: blocks of a pool lie in a block of malloc's, which is counted already, so they "
      "are not recorded; call tidemark_pool_begin() before the pool asks for its memory, and "
      "tidemark_pool_end() after that (tidemark.h(3))\n";
  static bool is_said;
  if (!__atomic_exchange_n(&is_said, true, __ATOMIC_RELAXED))
    tide_sys_say(words, sizeof words - 1);
}

long tide_ask_block_alloc(struct tide_seat *seat, const struct tide_asking *own, const void *block,
                          size_t bytes, struct tide_regs caller)
{
  bool is_possible = block && bytes >> ADDRESS_BITS == 0;
  long answer = is_possible ? pool_error(seat, own) : -EINVAL;
  if (!answer)
    answer = tide_pool_alloc(seat, (uint64_t)block, bytes, caller);
  if (answer == -EEXIST)
    say_counted();
  return answer;
}

long tide_ask_block_free(struct tide_seat *seat, const struct tide_asking *own, const void *block)
{
  long answer = pool_error(seat, own);
  if (!answer && !tide_pool_free(seat, (uint64_t)block) && !tide_samples.bits)
    answer = -EINVAL;
  return answer;
}

long tide_ask_blocks_free(struct tide_seat *seat, const struct tide_asking *own, const void *from,
                          size_t bytes)
{
  long answer = pool_error(seat, own);
  uint64_t start = (uint64_t)from, end;
  if (__builtin_add_overflow(start, bytes, &end))
    answer = -EINVAL;
  if (!answer)
    tide_pool_free_all(seat, start, end);
  return answer;
}
