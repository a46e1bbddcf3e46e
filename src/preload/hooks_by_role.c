// SPDX-License-Identifier: Apache-2.0
//
// The hooks that do what their role in hooks.def says, and no more: made from it. C++ operators are
// among them. libstdc++'s call malloc, which is hooked: ours then only jump on, leaving no frame
// and nothing to count twice. Allocator libraries that define the operators themselves (jemalloc,
// mimalloc, tcmalloc) are recorded here.

#include "preload/hook.h"
#include "preload/loader.h"

#include <stdlib.h>

// A function's parameters, and the arguments to call another with: a is the first, b the second.
#define PICK(one, two, three, it, ...) it
#define PARAMS(...) PICK(__VA_ARGS__, PARAMS_3, PARAMS_2, PARAMS_1, )(__VA_ARGS__)
#define PARAMS_1(A) (A a)
#define PARAMS_2(A, B) (A a, B b)
#define PARAMS_3(A, B, C) (A a, B b, C c)
#define ARGS(...) PICK(__VA_ARGS__, (a, b, c), (a, b), (a), )

// Does a hook of this family only jump on?
#define JUMPS_libc false
#define JUMPS_jemalloc false
#define JUMPS_cxx (!tide_real.owns_new)

// What is done where it does more: apart from the hook where it may only jump.
#define MORE_libc TIDE_HOT
#define MORE_jemalloc TIDE_HOT
#define MORE_cxx TIDE_JUMPED_TO

// Is the gate to be held while the real one works? Operators may call malloc as anybody would, if
// only when memory is short.
#define HOLDS_libc tide_real.holds
#define HOLDS_jemalloc tide_real.holds
#define HOLDS_cxx tide_real.chained

// The real function; NULL: there is none, and plain malloc and free serve. An operator of C++ that
// a C program loads locally is not in the global scope: it is looked for from where the caller is.
#define FIND_libc(name) (tide_real_resolve(), tide_real.name)
#define FIND_jemalloc(name) FIND_libc(name)
#define FIND_cxx(name)                                                                             \
  (tide_real_resolve(), tide_real.name ? tide_real.name                                            \
                                       : (__typeof__(tide_real.name))tide_defined_near(            \
                                             (uint64_t)__builtin_return_address(0), #name))

static const char nothrow; // std::nothrow carries nothing: any address will do

// asked: who is asked for the block, mostly the real function itself. An exception must not pass a
// held gate: of operators that throw, the sibling that returns NULL is asked, and only its refusal
// is taken to the one that throws.
#define ALLOCATES(name, role, family, types, size, alignment, asked, asked_args, throws)           \
  MORE_##family void *name##_recorded PARAMS types                                                 \
  {                                                                                                \
    __typeof__(tide_real.name) real = FIND_##family(name);                                         \
    if (!real)                                                                                     \
      return tide_plain_alloc(alignment, size);                                                    \
    if (JUMPS_##family)                                                                            \
      return real ARGS types;                                                                      \
    void *p = asked ? TIDE_CALL_HOLDING(HOLDS_##family, asked asked_args) : NULL;                  \
    if (throws && !p)                                                                              \
      p = real ARGS types;                                                                         \
    TIDE_RECORD(p, size, TIDE_TAG_OF(#name, role));                                                \
    return p;                                                                                      \
  }                                                                                                \
  void *name PARAMS types                                                                          \
  {                                                                                                \
    return JUMPS_##family && tide_real.name ? tide_real.name ARGS types                            \
                                            : name##_recorded ARGS types;                          \
  }
#define MADE_ALLOC(name, family, types)                                                            \
  ALLOCATES(name, ALLOC, family, types, a, 1, real, ARGS types, false)
#define MADE_ALLOC_ALIGNED(name, family, types)                                                    \
  ALLOCATES(name, ALLOC_ALIGNED, family, types, a, b, real, ARGS types, false)
#define MADE_ALLOC_SECOND(name, family, types)                                                     \
  ALLOCATES(name, ALLOC_SECOND, family, types, b, a, real, ARGS types, false)
#define MADE_NEW(name, family, types)                                                              \
  ALLOCATES(name, NEW, family, types, a, 1, tide_real.name##RKSt9nothrow_t, (a, &nothrow), true)
#define MADE_NEW_ALIGNED(name, family, types)                                                      \
  ALLOCATES(name, NEW_ALIGNED, family, types, a, b, tide_real.name##RKSt9nothrow_t,                \
            (a, b, &nothrow), true)

#define MADE_POSIX(name, family, types)                                                            \
  int name PARAMS types                                                                            \
  {                                                                                                \
    __typeof__(tide_real.name) real = FIND_##family(name);                                         \
    int error = TIDE_CALL_HOLDING(HOLDS_##family, real ARGS types);                                \
    void *p = error ? NULL : *a;                                                                   \
    TIDE_RECORD(p, c, TIDE_TAG_OF(#name, POSIX));                                                  \
    return error;                                                                                  \
  }

#define MADE_REALLOC(name, family, types)                                                          \
  void *name PARAMS types                                                                          \
  {                                                                                                \
    __typeof__(tide_real.name) real = FIND_##family(name);                                         \
    if (!real)                                                                                     \
      return realloc(a, b);                                                                        \
    struct tide_resize block = tide_resize_begin(&tide_self, a);                                   \
    void *p = TIDE_CALL_HOLDING(HOLDS_##family, real ARGS types);                                  \
    if (p)                                                                                         \
      tide_resize_done(&tide_self, block, a, p, b,                                                 \
                       TIDE_CALLER_REGS_TAGGED(TIDE_TAG_OF(#name, REALLOC)));                      \
    else                                                                                           \
      tide_resize_failed(&tide_self, block, a);                                                    \
    return p;                                                                                      \
  }

#define MADE_FREE(name, family, types)                                                             \
  MORE_##family void name##_recorded PARAMS types                                                  \
  {                                                                                                \
    __typeof__(tide_real.name) real = FIND_##family(name);                                         \
    if (!real) {                                                                                   \
      free(a);                                                                                     \
      return;                                                                                      \
    }                                                                                              \
    if (!JUMPS_##family && a)                                                                      \
      tide_record_free(&tide_self, a);                                                             \
    TIDE_CALL_HOLDING_VOID(HOLDS_##family, real ARGS types);                                       \
  }                                                                                                \
  void name PARAMS types                                                                           \
  {                                                                                                \
    if (JUMPS_##family && tide_real.name)                                                          \
      tide_real.name ARGS types;                                                                   \
    else                                                                                           \
      name##_recorded ARGS types;                                                                  \
  }

#define TIDE_HOOK(name, real, family, role, ret, types) MADE_##role(name, family, types)
#define TIDE_HOOK_OWN(name, real, family, role, ret, types)
#include "store/hooks.def"
