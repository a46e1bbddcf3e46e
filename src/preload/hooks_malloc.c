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

#ifdef __OPTIMIZE__
#define JUMPED_TO __attribute__((noinline)) static
#else // it would be called, and malloc() in between
#define JUMPED_TO TIDE_HOT
#endif

JUMPED_TO void *malloc_recorded(size_t n)
{
  void *p = tide_real.malloc(n);
  if (TIDE_LIKELY(p))
    return TIDE_RECORDED(p, n);
  tide_record_failed();
  return p;
}

// Both ways are jumps: whoever called malloc is the caller of what it leads to, and what is no
// sample has to save no registers.
void *malloc(size_t n)
{
  return TIDE_PASSES(n) ? tide_real.malloc(n) : malloc_recorded(n);
}

void *calloc(size_t n, size_t each)
{
  void *p = TIDE_CALL_REAL(tide_real.calloc(n, each));
  TIDE_RECORD(p, n * each); // no overflow: it succeeded
  return p;
}

// The record of it is the last thing to do but one: the ways of free_ways.def end with this. What
// the boot pool gave is for the real one to tell (real.c).
TIDE_HOT void free_go_on(void *p)
{
  tide_real.free(p);
}
#include "record/free_ways.def"

// What is no sample is freed with a jump, as malloc does it; so may be NULL.
void free(void *p)
{
  if (TIDE_LIKELY(tide_self.thread)) {
    if (p)
      tide_free_recording(&tide_self, p);
  } else if (tide_sample_is_none(p)) {
    tide_real.free(p);
  } else if (p) {
    free_looking(p, &tide_self);
  }
}

// A block from the boot pool cannot be resized by anybody: a fresh block takes its content.
static void *realloc_from_pool(void *old, size_t n)
{
  void *p = tide_real.malloc(n);
  return p && n ? memcpy(p, old, n < 256 ? n : 256) : p;
}

TIDE_HOT void *resize(void *old, size_t n, struct tide_regs r)
{
  if (TIDE_UNLIKELY(!tide_real.resolved))
    tide_real_resolve();
  struct tide_resize block = tide_resize_begin(&tide_self, old);
  void *p = TIDE_UNLIKELY(old && tide_real_pool_holds(old))
                ? realloc_from_pool(old, n)
                : TIDE_CALL_REAL(tide_real.realloc(old, n));
  if (TIDE_LIKELY(p)) {
    tide_resize_done(&tide_self, block, old, p, n, r);
  } else if (old && !n) { // glibc: realloc(p, 0) frees
    tide_resize_freed(&tide_self, block, old);
  } else {
    tide_resize_failed(&tide_self, block, old);
  }
  return p;
}

// Is neither the old block a sample nor the new one? Never of one that is freed so.
TIDE_HOT bool resize_passes(const void *old, size_t n)
{
  return TIDE_UNLIKELY(!tide_self.thread) && n && tide_sample_is_none(old) &&
         !tide_real_pool_holds(old) && tide_sample_passes(&tide_self, n);
}

void *realloc(void *old, size_t n)
{
  if (!resize_passes(old, n))
    return resize(old, n, TIDE_CALLER_REGS());
  void *p = TIDE_CALL_REAL(tide_real.realloc(old, n));
  if (TIDE_UNLIKELY(!p)) {
    tide_self.until += n + 1; // it was none
    tide_record_failed();
  }
  return p;
}

void *reallocarray(void *old, size_t n, size_t each)
{
  size_t bytes;
  if (__builtin_mul_overflow(n, each, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return resize(old, bytes, TIDE_CALLER_REGS());
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
  TIDE_RECORD(p, n);
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
    tide_resize_done(&tide_self, block, p, p, n, TIDE_CALLER_REGS());
  else
    tide_resize_failed(&tide_self, block, p);
  return usable;
}
