// SPDX-License-Identifier: Apache-2.0
//
// C++ operators and jemalloc's own functions. libstdc++'s operators call malloc, which is hooked:
// ours then only jump on, leaving no frame and nothing to count twice. Allocator libraries that
// define the operators themselves (jemalloc, mimalloc, tcmalloc) are recorded here.

#include "preload/hook.h"
#include "preload/loader.h"

#include <stdlib.h>
#include <string.h>

// The operator behind ours. In a C program that loads C++ objects locally it is not in the global
// scope: look for it from where the caller is. Without any, plain malloc and free serve.
#define REAL(name)                                                                                 \
  (tide_real_resolve(), tide_real.name ? tide_real.name                                            \
                                       : (__typeof__(tide_real.name))tide_defined_near(            \
                                             (uint64_t)__builtin_return_address(0), #name))

#define OPERATOR_NEW(name, params, args, size, otherwise)                                          \
  TIDE_EXPORT void *name params;                                                                   \
  TIDE_EXPORT void *name params                                                                    \
  {                                                                                                \
    if (TIDE_LIKELY(tide_real.name && !tide_real.owns_new))                                        \
      return tide_real.name args;                                                                  \
    __typeof__(tide_real.name) real = REAL(name);                                                  \
    if (!real)                                                                                     \
      return otherwise;                                                                            \
    if (!tide_real.owns_new)                                                                       \
      return real args;                                                                            \
    void *p = TIDE_CALL_REAL(real args);                                                           \
    if (p)                                                                                         \
      TIDE_RECORD_ALLOC(p, size);                                                                  \
    return p;                                                                                      \
  }

// The same for operators that throw: an exception must not pass a held gate, so the sibling that
// returns NULL is asked first, and only its refusal is taken to the one that throws.
#define OPERATOR_NEW_THROWING(name, sibling, params, args, sibling_args, size, otherwise)          \
  TIDE_EXPORT void *name params;                                                                   \
  TIDE_EXPORT void *name params                                                                    \
  {                                                                                                \
    if (TIDE_LIKELY(tide_real.name && !tide_real.owns_new))                                        \
      return tide_real.name args;                                                                  \
    __typeof__(tide_real.name) real = REAL(name);                                                  \
    if (!real)                                                                                     \
      return otherwise;                                                                            \
    if (!tide_real.owns_new)                                                                       \
      return real args;                                                                            \
    void *p = tide_real.sibling ? TIDE_CALL_REAL(tide_real.sibling sibling_args) : NULL;           \
    if (!p)                                                                                        \
      p = real args;                                                                               \
    TIDE_RECORD_ALLOC(p, size);                                                                    \
    return p;                                                                                      \
  }

#define OPERATOR_DELETE(name, params, args)                                                        \
  TIDE_EXPORT void name params;                                                                    \
  TIDE_EXPORT void name params                                                                     \
  {                                                                                                \
    if (TIDE_LIKELY(tide_real.name && !tide_real.owns_new)) {                                      \
      tide_real.name args;                                                                         \
      return;                                                                                      \
    }                                                                                              \
    __typeof__(tide_real.name) real = REAL(name);                                                  \
    if (!real) {                                                                                   \
      free(p);                                                                                     \
      return;                                                                                      \
    }                                                                                              \
    if (tide_real.owns_new && p)                                                                   \
      tide_record_free(&tide_self, p);                                                             \
    TIDE_CALL_REAL_VOID(real args);                                                                \
  }

static const char nothrow; // std::nothrow carries nothing: any address will do

OPERATOR_NEW_THROWING(_Znwm, _ZnwmRKSt9nothrow_t, (size_t n), (n), (n, &nothrow), n, malloc(n))
OPERATOR_NEW_THROWING(_Znam, _ZnamRKSt9nothrow_t, (size_t n), (n), (n, &nothrow), n, malloc(n))
OPERATOR_NEW_THROWING(_ZnwmSt11align_val_t, _ZnwmSt11align_val_tRKSt9nothrow_t,
                      (size_t n, size_t a), (n, a), (n, a, &nothrow), n, aligned_alloc(a, n))
OPERATOR_NEW_THROWING(_ZnamSt11align_val_t, _ZnamSt11align_val_tRKSt9nothrow_t,
                      (size_t n, size_t a), (n, a), (n, a, &nothrow), n, aligned_alloc(a, n))
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, (size_t n, const void *t), (n, t), n, malloc(n))
OPERATOR_NEW(_ZnamRKSt9nothrow_t, (size_t n, const void *t), (n, t), n, malloc(n))
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *t), (n, a, t), n,
             aligned_alloc(a, n))
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *t), (n, a, t), n,
             aligned_alloc(a, n))

OPERATOR_DELETE(_ZdlPv, (void *p), (p))
OPERATOR_DELETE(_ZdaPv, (void *p), (p))
OPERATOR_DELETE(_ZdlPvm, (void *p, size_t n), (p, n))
OPERATOR_DELETE(_ZdaPvm, (void *p, size_t n), (p, n))
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *t), (p, t))
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *t), (p, t))
OPERATOR_DELETE(_ZdlPvSt11align_val_t, (void *p, size_t a), (p, a))
OPERATOR_DELETE(_ZdaPvSt11align_val_t, (void *p, size_t a), (p, a))
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t n, size_t a), (p, n, a))
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t n, size_t a), (p, n, a))
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t a, const void *t), (p, a, t))
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t a, const void *t), (p, a, t))

// jemalloc's flags: the low six bits are log2 of the alignment, bit 6 asks for zeroes. A program
// that finds these functions here although no jemalloc is loaded gets the same from malloc.
enum { LG_ALIGN_MASK = 0x3f, ZERO = 0x40 };

void *mallocx(size_t n, int flags);
void *rallocx(void *old, size_t n, int flags);
size_t xallocx(void *p, size_t n, size_t extra, int flags);
void dallocx(void *p, int flags);
void sdallocx(void *p, size_t n, int flags);

static void *plain_mallocx(size_t n, int flags)
{
  size_t alignment = (size_t)1 << (flags & LG_ALIGN_MASK);
  void *p = alignment > 16 ? aligned_alloc(alignment, n) : malloc(n);
  return p && flags & ZERO ? memset(p, 0, n) : p;
}

TIDE_EXPORT void *mallocx(size_t n, int flags)
{
  tide_real_resolve();
  if (!tide_real.mallocx)
    return plain_mallocx(n, flags);
  void *p = TIDE_CALL_REAL(tide_real.mallocx(n, flags));
  if (p)
    TIDE_RECORD_ALLOC(p, n);
  return p;
}

TIDE_EXPORT void *rallocx(void *old, size_t n, int flags)
{
  tide_real_resolve();
  if (!tide_real.rallocx)
    return realloc(old, n);
  struct tide_resize block = tide_resize_begin(&tide_self, old);
  void *p = TIDE_CALL_REAL(tide_real.rallocx(old, n, flags));
  if (p)
    tide_resize_done(&tide_self, block, old, p, n, TIDE_CALLER_REGS());
  else
    tide_resize_failed(&tide_self, block, old);
  return p;
}

// Resizes in place or not at all; answers with the usable size.
TIDE_EXPORT size_t xallocx(void *p, size_t n, size_t extra, int flags)
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

TIDE_EXPORT void dallocx(void *p, int flags)
{
  tide_real_resolve();
  if (!tide_real.dallocx) {
    free(p);
    return;
  }
  tide_record_free(&tide_self, p);
  TIDE_CALL_REAL_VOID(tide_real.dallocx(p, flags));
}

TIDE_EXPORT void sdallocx(void *p, size_t n, int flags)
{
  tide_real_resolve();
  if (!tide_real.sdallocx) {
    free(p);
    return;
  }
  tide_record_free(&tide_self, p);
  TIDE_CALL_REAL_VOID(tide_real.sdallocx(p, n, flags));
}
