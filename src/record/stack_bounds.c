// SPDX-License-Identifier: Apache-2.0
//
// The main thread's stack grows downward from a known top, and the kernel keeps at least 128 MiB
// below it free of other mappings. Another thread's is the part below the thread pointer of the
// mapping that the thread pointer is in, told by /proc/self/maps: glibc puts the thread's control
// block at the top of its stack, whoever allocated it. (sp would not do: the first event may come
// on a coroutine's stack; pthread_getattr_np would, but it allocates.)
#include "record/stack_bounds.h"

#include "rt/sys.h"

#include <fcntl.h>
#include <sys/resource.h>

static uint64_t main_top;
enum { MAIN_STACK_BYTES = 120 << 20 };

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

// Reads "lo-hi " pairs, one per line, until the line whose range holds the address.
struct maps_reader {
  uint64_t lo, hi;
  enum { IN_LO, IN_HI, IN_REST } state;
};

static bool feed(struct maps_reader *m, char c, uint64_t address)
{
  uint64_t digit = c >= 'a' && c <= 'f' ? (uint64_t)(c - 'a' + 10) : (uint64_t)(c - '0');
  if (c == '\n') {
    *m = (struct maps_reader){0};
  } else if (m->state == IN_LO && c == '-') {
    m->state = IN_HI;
  } else if (m->state == IN_HI && c == ' ') {
    m->state = IN_REST;
    return address >= m->lo && address < m->hi;
  } else if (m->state == IN_LO) {
    m->lo = m->lo << 4 | digit;
  } else if (m->state == IN_HI) {
    m->hi = m->hi << 4 | digit;
  }
  return false;
}

static bool mapping_of(uint64_t address, uint64_t *ret_lo, uint64_t *ret_hi)
{
  char buffer[512]; // small: this may be a small stack
  struct maps_reader m = {0};
  long n, fd = TIDE_SYS(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (tide_sys_failed(fd))
    return false;
  bool found = false;
  while (!found && (n = TIDE_SYS(SYS_read, fd, buffer, sizeof buffer)) > 0)
    for (long i = 0; i < n && !found; i++)
      found = feed(&m, buffer[i], address);
  TIDE_SYS(SYS_close, fd);
  *ret_lo = m.lo;
  *ret_hi = m.hi;
  return found;
}

void tide_stack_bounds(uint32_t tid, uint64_t *ret_lo, uint64_t *ret_size)
{
  uint64_t sp = (uint64_t)__builtin_frame_address(0), hi;
  uint64_t control_block = (uint64_t)__builtin_thread_pointer();
  *ret_lo = *ret_size = 0;
  if (tid == tide_sys_pid() && main_bounds(sp, ret_lo, ret_size))
    return;
  if (!tide_sys_sandboxed() && mapping_of(control_block, ret_lo, &hi))
    *ret_size = control_block - *ret_lo;
}
