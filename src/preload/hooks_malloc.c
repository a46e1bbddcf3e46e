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

void *malloc(size_t n)
{
  void *p = tide_real.malloc(n);
  if (TIDE_LIKELY(p))
    return TIDE_RECORDED(p, n);
  tide_record_failed();
  return p;
}

void *calloc(size_t n, size_t each)
{
  void *p = TIDE_CALL_REAL(tide_real.calloc(n, each));
  TIDE_RECORD(p, n * each); // no overflow: it succeeded
  return p;
}

// There is something to see first.
__attribute__((noinline)) static void free_looking(void *p)
{
  if (tide_record_free(&tide_self, p) || !tide_real_pool_holds(p))
    tide_real.free(p);
}

// Each of the usual cases is apart, and calls nobody but as its last: it has to save few registers.
__attribute__((noinline)) static void free_unusual(struct tide_thread *t, void *p)
{
  if (tide_record_end(t, p) || !tide_real_pool_holds(p))
    tide_real.free(p);
}

TIDE_COLD static void free_owing(struct tide_thread *t, void *p)
{
  tide_leave_slow(t);
  tide_real.free(p);
}

TIDE_HOT void free_recorded(struct tide_thread *t, void *p)
{
  if (TIDE_UNLIKELY(!tide_leave_quickly(t)))
    free_owing(t, p);
  else
    tide_real.free(p);
}

static void free_booked(struct tide_thread *t, void *p);

// The first change of a cell after a peak, or at one.
__attribute__((noinline)) static void free_at_peak(struct tide_thread *t, void *p,
                                                   struct tide_cell *c)
{
  if (TIDE_LIKELY(tide_book_pass_peak(&t->writer, c, t->clock.now)))
    free_booked(t, p);
  else
    free_unusual(t, p);
}

__attribute__((noinline)) static void free_last(struct tide_thread *t, void *p)
{
  struct tide_quick block;
  if (TIDE_UNLIKELY(!tide_book_find_last(&t->writer, t->clock.now, &block))) {
    free_unusual(t, p);
    return;
  }
  if (TIDE_UNLIKELY(!tide_book_is_off_peak(&t->writer, block.c))) {
    free_at_peak(t, p, block.c);
    return;
  }
  if (TIDE_UNLIKELY(!tide_book_end_quickly(&t->writer, block.c, block.slot, block.end, true))) {
    free_unusual(t, p);
    return;
  }
  t->writer.temp_cell = block.c;
  free_recorded(t, p);
}

// A block in a table that is not direct.
__attribute__((noinline)) static void free_hashed(struct tide_thread *t, void *p)
{
  if (TIDE_UNLIKELY(!tide_book_free_hashed(&t->writer, (uint64_t)p, t->clock.now)))
    free_unusual(t, p);
  else
    free_recorded(t, p);
}

__attribute__((noinline)) static void free_other(struct tide_thread *t, void *p)
{
  // The allocator keeps notes just before a block (glibc) and writes into it (all): a cold line is
  // on its way while we wait for ours.
  __builtin_prefetch((char *)p - 8, 1);
  struct tide_quick block;
  if (TIDE_UNLIKELY(!tide_book_find_other(&t->writer, (uint64_t)p, t->clock.now, &block))) {
    free_hashed(t, p);
    return;
  }
  if (TIDE_UNLIKELY(!tide_book_is_off_peak(&t->writer, block.c))) {
    free_at_peak(t, p, block.c);
    return;
  }
  if (TIDE_UNLIKELY(!tide_book_end_quickly(&t->writer, block.c, block.slot, block.end, false))) {
    free_unusual(t, p);
    return;
  }
  free_recorded(t, p);
}

static void free_booked(struct tide_thread *t, void *p)
{
  if (tide_book_may_be_last(&t->writer, (uint64_t)p))
    free_last(t, p);
  else
    free_other(t, p);
}

void free(void *p)
{
  if (!p)
    return;
  struct tide_thread *t = tide_enter_quickly(&tide_self);
  if (TIDE_UNLIKELY(!t))
    free_looking(p);
  else if (!tide_writer_waits(&t->writer))
    free_booked(t, p);
  else if (tide_run_free_again(&t->writer, (uint64_t)p))
    free_recorded(t, p);
  else
    free_unusual(t, p);
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

void *realloc(void *old, size_t n)
{
  return resize(old, n, TIDE_CALLER_REGS());
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
