// SPDX-License-Identifier: Apache-2.0
//
// mmap, munmap, mremap, brk. Only the program's own calls come here: libc's allocator makes its
// system calls directly, and what another allocator maps for its heap is turned away: here, if it
// is known by its code (real.c), or at the gate, which is held while it works. An unmap is booked
// before the call, because afterwards the range may be another thread's; the call fails only for
// arguments that no known range has.

#include "record/record.h"
#include "preload/hook.h"
#include "rt/sys.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#define TAG(call) ((uint64_t)tide_tag(TIDE_FAMILY_PAGES, TIDE_CALL_##call) << TIDE_PC_TAG_SHIFT)

TIDE_HOT void *map(void *at, size_t n, int prot, int flags, int fd, off_t offset,
                   struct tide_regs r)
{
  tide_real_resolve();
  void *p = tide_real.mmap(at, n, prot, flags, fd, offset);
  if (p != MAP_FAILED && !tide_real_calls(r.pc)) {
    r.pc |= TAG(MMAP);
    tide_pages_mapped(&tide_self, (uint64_t)p, n, r);
  }
  return p;
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
  return map(at, n, prot, flags, fd, offset, TIDE_CALLER_REGS());
}

void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t offset)
{
  return map(at, n, prot, flags, fd, offset, TIDE_CALLER_REGS());
}

int munmap(void *at, size_t n)
{
  tide_real_resolve();
  if (!((uint64_t)at & (tide_sys_page_bytes - 1)) && n)
    tide_pages_unmapped(&tide_self, (uint64_t)at, n);
  return tide_real.munmap(at, n);
}

void *mremap(void *old, size_t old_n, size_t n, int flags, ...)
{
  va_list args;
  va_start(args, flags);
  void *to = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(args, void *) : NULL;
  va_end(args);
  tide_real_resolve();
  void *p = tide_real.mremap(old, old_n, n, flags, to);
  if (p == MAP_FAILED)
    return p;
  if (flags & MREMAP_DONTUNMAP)
    old_n = 0; // as where it is: that duplicates a shared mapping, and the old one stays
  struct tide_regs r = TIDE_CALLER_REGS();
  if (!tide_real_calls(r.pc)) {
    r.pc |= TAG(MREMAP);
    tide_pages_remapped(&tide_self, (uint64_t)old, old_n, (uint64_t)p, n, r);
  }
  return p;
}

static void break_moved(uint64_t from, uint64_t to, struct tide_regs r)
{
  if (tide_real_calls(r.pc))
    return;
  r.pc |= TAG(BRK);
  if (to > from)
    tide_pages_mapped(&tide_self, from, to - from, r);
  else if (to < from)
    tide_pages_unmapped(&tide_self, to, from - to);
}

int brk(void *to)
{
  tide_real_resolve();
  uint64_t from = (uint64_t)tide_real.sbrk(0);
  int ret = tide_real.brk(to);
  if (!ret)
    break_moved(from, (uint64_t)to, TIDE_CALLER_REGS());
  return ret;
}

void *sbrk(intptr_t by)
{
  tide_real_resolve();
  void *from = tide_real.sbrk(by);
  if (by && from != (void *)-1)
    break_moved((uint64_t)from, (uint64_t)from + (uint64_t)by, TIDE_CALLER_REGS());
  return from;
}
