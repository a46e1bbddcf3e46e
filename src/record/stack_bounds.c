// SPDX-License-Identifier: Apache-2.0
//
// The main thread's stack grows downward from a known top, and the kernel keeps at least 128 MiB
// below it free of other mappings. Another thread's is the part below the thread pointer of the
// mapping that the thread pointer is in, told by /proc/self/maps: glibc puts the thread's control
// block at the top of its stack, whoever allocated it. (sp would not do: the first event may come
// on a coroutine's stack; pthread_getattr_np would, but it allocates.)
#include "record/stack_bounds.h"

#include "rt/maps.h"
#include "rt/sys.h"

#include <sys/resource.h>

static uint64_t main_top;
enum { MAIN_STACK_BYTES = 120 << 20, USUAL_STACK_BYTES = 8 << 20 };

void tide_stack_bounds_init(uint64_t main_stack_top)
{
  main_top = main_stack_top;
}

static bool main_bounds(uint64_t sp, uint64_t *ret_lo, uint64_t *ret_size)
{
  struct rlimit limit = {.rlim_cur = 8 << 20};
  TIDE_SYS(SYS_prlimit64, 0, RLIMIT_STACK, 0, &limit);
  uint64_t size = limit.rlim_cur < MAIN_STACK_BYTES ? limit.rlim_cur : MAIN_STACK_BYTES;
  if (!main_top || main_top - sp > size)
    return false;
  *ret_lo = main_top - size;
  *ret_size = size;
  return true;
}

void tide_stack_bounds(uint32_t tid, uint64_t *ret_lo, uint64_t *ret_size)
{
  uint64_t sp = (uint64_t)__builtin_frame_address(0), hi;
  *ret_lo = *ret_size = 0;
  if (tid == tide_sys_pid() && main_bounds(sp, ret_lo, ret_size))
    return; // before the thread pointer is looked at: without a libc it may lead nowhere
  uint64_t control_block = (uint64_t)__builtin_thread_pointer();
  if (tide_sys_sandboxed()) { // nobody may be asked: the stack of a new thread is as usual
    *ret_lo = control_block - USUAL_STACK_BYTES;
    *ret_size = sp - *ret_lo < USUAL_STACK_BYTES ? USUAL_STACK_BYTES : 0;
    return;
  }
  if (tide_maps_find(control_block, ret_lo, &hi))
    *ret_size = control_block - *ret_lo;
}
