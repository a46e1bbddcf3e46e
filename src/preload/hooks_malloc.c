// SPDX-License-Identifier: Apache-2.0
//
// The C allocator's functions. Each hook is the same three steps: call the real one, take the
// caller's registers, record. errno is whatever the real function left: the recorder makes its
// system calls directly and never touches it.

#include "preload/hook.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define RECORD(p, size)                                                                            \
  do {                                                                                             \
    if (TIDE_LIKELY(p))                                                                            \
      TIDE_RECORD_ALLOC(p, size);                                                                  \
    else                                                                                           \
      tide_record_failed();                                                                        \
  } while (0)

TIDE_EXPORT void *malloc(size_t n)
{
  void *p = tide_real.malloc(n);
  RECORD(p, n);
  return p;
}

TIDE_EXPORT void *calloc(size_t n, size_t each)
{
  void *p = TIDE_CALL_REAL(tide_real.calloc(n, each));
  RECORD(p, n * each); // no overflow: it succeeded
  return p;
}

// There is something to see first.
__attribute__((noinline)) static void free_looking(void *p)
{
  if (tide_record_free(&tide_self, p) || !tide_real_pool_holds(p))
    tide_real.free(p);
}

// The end of a block that is not known.
TIDE_COLD static void free_unknown(struct tide_thread *t, void *p)
{
  tide_record_unknown(p);
  tide_leave(t);
  if (!tide_real_pool_holds(p))
    tide_real.free(p);
}

// The end of a block that does not wait.
__attribute__((noinline)) static void free_entered(struct tide_thread *t, void *p)
{
  // The allocator keeps notes just before a block (glibc) and writes into it (all): a cold line is
  // on its way while we wait for ours.
  __builtin_prefetch((char *)p - 8, 1);
  if (TIDE_UNLIKELY(!tide_run_free_booked(&t->writer, (uint64_t)p, t->clock.now))) {
    free_unknown(t, p);
    return;
  }
  tide_leave(t);
  tide_real.free(p);
}

TIDE_EXPORT void free(void *p)
{
  if (!p)
    return;
  struct tide_thread *t = tide_enter_quickly(&tide_self);
  if (TIDE_UNLIKELY(!t)) {
    free_looking(p);
    return;
  }
  if (!tide_run_free_waiting(&t->writer, (uint64_t)p)) {
    free_entered(t, p);
    return;
  }
  tide_leave(t);
  tide_real.free(p);
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

TIDE_EXPORT void *realloc(void *old, size_t n)
{
  return resize(old, n, TIDE_CALLER_REGS());
}

TIDE_EXPORT void *reallocarray(void *old, size_t n, size_t each)
{
  size_t bytes;
  if (__builtin_mul_overflow(n, each, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return resize(old, bytes, TIDE_CALLER_REGS());
}

TIDE_EXPORT void *memalign(size_t alignment, size_t n)
{
  tide_real_resolve();
  void *p = TIDE_CALL_REAL(tide_real.memalign(alignment, n));
  RECORD(p, n);
  return p;
}

TIDE_EXPORT void *aligned_alloc(size_t alignment, size_t n)
{
  tide_real_resolve();
  void *p = TIDE_CALL_REAL(tide_real.aligned_alloc(alignment, n));
  RECORD(p, n);
  return p;
}

TIDE_EXPORT int posix_memalign(void **out, size_t alignment, size_t n)
{
  tide_real_resolve();
  int ret = TIDE_CALL_REAL(tide_real.posix_memalign(out, alignment, n));
  if (!ret)
    RECORD(*out, n);
  else
    tide_record_failed();
  return ret;
}

TIDE_EXPORT void *valloc(size_t n)
{
  tide_real_resolve();
  void *p = TIDE_CALL_REAL(tide_real.valloc(n));
  RECORD(p, n);
  return p;
}

TIDE_EXPORT void *pvalloc(size_t n)
{
  tide_real_resolve();
  void *p = TIDE_CALL_REAL(tide_real.pvalloc(n));
  RECORD(p, n);
  return p;
}

void free_sized(void *p, size_t n);
void free_aligned_sized(void *p, size_t alignment, size_t n);

// C23. A libc that does not have them yet is given a plain free.
TIDE_EXPORT void free_sized(void *p, size_t n)
{
  if (!p)
    return;
  tide_real_resolve();
  tide_record_free(&tide_self, p);
  if (tide_real.free_sized)
    TIDE_CALL_REAL_VOID(tide_real.free_sized(p, n));
  else
    tide_real.free(p);
}

TIDE_EXPORT void free_aligned_sized(void *p, size_t alignment, size_t n)
{
  if (!p)
    return;
  tide_real_resolve();
  tide_record_free(&tide_self, p);
  if (tide_real.free_aligned_sized)
    TIDE_CALL_REAL_VOID(tide_real.free_aligned_sized(p, alignment, n));
  else
    tide_real.free(p);
}
