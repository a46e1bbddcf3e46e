// SPDX-License-Identifier: Apache-2.0
//
// Pools of the program (tidemark.h): blocks that they hand out (record/pool.h), and the time in
// which a pool sees to its own memory. The gate is held then, as it is while another allocator
// works: what is asked of malloc meanwhile is the pool's business.
#include "preload/hook.h"
#include "record/pool.h"
#include "rt/sys.h"

#include <errno.h>
#pragma GCC visibility push(default)
#include <tidemark/tidemark.h>
#pragma GCC visibility pop

static __thread struct {
  uint32_t depth;
  struct tide_held held;
} at_pool __attribute__((tls_model("initial-exec")));

static int pool_answer(long error)
{
  if (error)
    errno = (int)-error;
  return error ? -1 : 0;
}

// A signal handler that came while the recorder was at work in this thread; or a pool is.
static bool is_turned_away(const struct tide_seat *seat)
{
  const struct tide_thread *t = seat->thread;
  return at_pool.depth || seat->phase == TIDE_PHASE_BUSY || (t && t->self == t && !t->idle);
}

// 0: what is told can be recorded.
static long pool_error(struct tide_seat *seat)
{
  if (!tide_boot_ready() && !tide_boot(seat))
    return -ENODATA;
  return is_turned_away(seat) ? -EBUSY : 0;
}

int tidemark_v1_pool_begin(void)
{
  struct tide_seat *seat = &tide_self;
  if (at_pool.depth) {
    at_pool.depth++;
    return 0;
  }
  long error = pool_error(seat);
  if (error)
    return pool_answer(error);
  at_pool.held = tide_hold(seat);
  at_pool.depth = 1;
  return 0;
}

int tidemark_v1_pool_end(void)
{
  if (!at_pool.depth)
    return pool_answer(-EINVAL);
  const struct tide_thread *t = at_pool.held.thread;
  bool is_wiped = t && t->self != t; // a fork child's: it begins anew
  if (!--at_pool.depth && !is_wiped)
    tide_unhold(&tide_self, at_pool.held);
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

int tidemark_v1_block_alloc(const void *block, size_t bytes)
{
  int error = errno;
  struct tide_seat *seat = &tide_self;
  long answer = block ? pool_error(seat) : -EINVAL;
  if (!answer)
    answer = tide_pool_alloc(seat, (uint64_t)block, bytes, TIDE_CALLER_REGS());
  if (answer == -EEXIST)
    say_counted();
  errno = error;
  return pool_answer(answer);
}

int tidemark_v1_block_free(const void *block)
{
  int error = errno;
  struct tide_seat *seat = &tide_self;
  long answer = pool_error(seat);
  if (!answer && !tide_pool_free(seat, (uint64_t)block) && !tide_samples.bits)
    answer = -EINVAL;
  errno = error;
  return pool_answer(answer);
}

int tidemark_v1_blocks_free(const void *from, size_t bytes)
{
  int error = errno;
  struct tide_seat *seat = &tide_self;
  long answer = pool_error(seat);
  uint64_t start = (uint64_t)from, end;
  if (__builtin_add_overflow(start, bytes, &end))
    answer = -EINVAL;
  if (!answer)
    tide_pool_free_all(seat, start, end);
  errno = error;
  return pool_answer(answer);
}
