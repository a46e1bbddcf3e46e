// SPDX-License-Identifier: Apache-2.0
//
// The allocators' functions that have to be quick, or are not as their role says (the rest:
// hooks_by_role.c). Each hook is the same three steps: call the real one, take the caller's
// registers, record. errno is whatever the real function left: the recorder makes its
// system calls directly and never touches it.

#include "preload/hook.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// The ways of what is no sample are short, and come first: from here they lie in one cache line,
// which a program that seldom allocates has to fetch each time.
#define IN_A_LINE __attribute__((aligned(64)))

TIDE_JUMPED_TO void *malloc_recorded(size_t n)
{
  void *p = tide_real.malloc(n);
  if (TIDE_LIKELY(p))
    return TIDE_RECORDED(p, n, TIDE_TAG_OF("malloc", ALLOC));
  tide_record_failed();
  return p;
}

// Both ways are jumps: whoever called malloc is the caller of what it leads to, and what is no
// sample has to save no registers.
IN_A_LINE void *malloc(size_t n)
{
  return TIDE_PASSES(n) ? tide_real.malloc(n) : malloc_recorded(n);
}

TIDE_JUMPED_TO void *calloc_recorded(size_t n, size_t each)
{
  void *p = tide_real.calloc(n, each);
  if (TIDE_LIKELY(p))
    return TIDE_RECORDED(p, n * each, TIDE_TAG_OF("calloc", CALLOC)); // it did not overflow
  tide_record_failed();
  return p;
}

void *calloc(size_t n, size_t each)
{
  size_t bytes;
  return !__builtin_mul_overflow(n, each, &bytes) && TIDE_PASSES(bytes) ? tide_real.calloc(n, each)
                                                                        : calloc_recorded(n, each);
}

// The record of it is the last thing to do but one: the ways of free_ways.def end with this. What
// the boot pool gave is for the real one to tell (real.c).
TIDE_HOT void free_go_on(void *p)
{
  tide_real.free(p);
}
#include "record/free_ways.def"

// Of a thread that has a state.
TIDE_HOT void free_exactly(void *p)
{
  struct tide_thread *t = tide_enter_quickly(&tide_self);
  if (TIDE_LIKELY(t))
    tide_free_by(t, p);
  else
    free_looking(p, &tide_self);
}

// What is no sample is freed with a jump, as malloc does it; so may be NULL.
IN_A_LINE void free(void *p)
{
  if (TIDE_LIKELY(!tide_self.thread)) {
    if (tide_sample_is_none(p))
      tide_real.free(p);
    else if (p)
      free_looking(p, &tide_self);
  } else if (p) {
    free_exactly(p);
  }
}

#define RESIZE_REGS() TIDE_CALLER_REGS_TAGGED(TIDE_TAG_OF("realloc", REALLOC))
TIDE_HOT void *resize(void *old, size_t n, struct tide_regs r)
{
  if (TIDE_UNLIKELY(!tide_real.resolved))
    tide_real_resolve();
  struct tide_resize block = tide_resize_begin(&tide_self, old);
  void *p = tide_real.realloc(old, n);
  if (TIDE_LIKELY(p)) {
    tide_resize_done(&tide_self, block, old, p, n, r);
  } else if (old && !n) { // glibc: realloc(p, 0) frees
    tide_resize_freed(&tide_self, block, old);
  } else {
    tide_resize_failed(&tide_self, block, old);
  }
  return p;
}

TIDE_JUMPED_TO void *realloc_recorded(void *old, size_t n)
{
  return resize(old, n, RESIZE_REGS());
}

// What is larger is rather refused, which is to be counted, and takes time enough for that.
enum { RESIZE_MOST = 64 << 10 };

// Is neither the old block a sample nor the new one? If it is freed so, a byte less passes.
TIDE_HOT bool resize_passes(const void *old, size_t n)
{
  return n <= RESIZE_MOST && tide_self.until > n && tide_sample_is_none(old) && TIDE_PASSES(n);
}

void *realloc(void *old, size_t n)
{
  return resize_passes(old, n) ? tide_real.realloc(old, n) : realloc_recorded(old, n);
}

TIDE_JUMPED_TO void *reallocarray_recorded(void *old, size_t n, size_t each)
{
  return resize(old, n * each, RESIZE_REGS());
}

void *reallocarray(void *old, size_t n, size_t each)
{
  size_t bytes;
  if (__builtin_mul_overflow(n, each, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return resize_passes(old, bytes) ? tide_real.realloc(old, bytes)
                                   : reallocarray_recorded(old, n, each);
}

// jemalloc's flags: the low six bits are log2 of the alignment, bit 6 asks for zeroes. A program
// that finds these functions here although no jemalloc is loaded gets the same from malloc.
enum { LG_ALIGN_MASK = 0x3f, ZERO = 0x40 };

static void *plain_mallocx(size_t n, int flags)
{
  void *p = tide_plain_alloc((size_t)1 << (flags & LG_ALIGN_MASK), n);
  return p && flags & ZERO ? memset(p, 0, n) : p;
}

void *mallocx(size_t n, int flags)
{
  tide_real_resolve();
  if (!tide_real.mallocx)
    return plain_mallocx(n, flags);
  void *p = TIDE_CALL_REAL(tide_real.mallocx(n, flags));
  TIDE_RECORD(p, n, TIDE_TAG_OF("mallocx", ALLOC));
  return p;
}

// Resizes in place or not at all; answers with the usable size.
size_t xallocx(void *p, size_t n, size_t extra, int flags)
{
  tide_real_resolve();
  if (!tide_real.xallocx)
    return 0;
  struct tide_resize block = tide_resize_begin(&tide_self, p);
  size_t usable = TIDE_CALL_REAL(tide_real.xallocx(p, n, extra, flags));
  if (usable >= n)
    tide_resize_done(&tide_self, block, p, p, n, RESIZE_REGS());
  else
    tide_resize_failed(&tide_self, block, p);
  return usable;
}
