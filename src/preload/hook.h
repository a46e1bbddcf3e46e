// SPDX-License-Identifier: Apache-2.0
//
// What every hook is made of: an event from the recorder's core, and the real function.
#pragma once
#include "preload/real.h"
#include "record/record.h"

// What the library exports.
#define TIDE_HOOK(name, real, family, role, ret, types)                                            \
  __attribute__((visibility("default"))) ret name types;
#include "store/hooks.def"

// A block that was allocated. Takes the registers last: what comes before may have to call
// somebody. Is the block: malloc ends with it.
#define TIDE_RECORDED(p, size)                                                                     \
  ({                                                                                               \
    struct tide_thread *thread_ = tide_enter(&tide_self);                                          \
    TIDE_LIKELY(thread_)                                                                           \
    ? tide_record_at(thread_, TIDE_CAPTURE_CALLER(&thread_->unwind), (p), (size)) : (p);           \
  })

// What an allocation returned.
#define TIDE_RECORD(p, size)                                                                       \
  do {                                                                                             \
    if (TIDE_LIKELY(p))                                                                            \
      (void)TIDE_RECORDED(p, size);                                                                \
    else                                                                                           \
      tide_record_failed();                                                                        \
  } while (0)

// In place of a function that there is not.
static inline void *tide_plain_alloc(size_t alignment, size_t n)
{
  return alignment > 16 ? aligned_alloc(alignment, n) : malloc(n);
}

// Calls the real function; where it is another allocator's, with the gate held. Those of malloc and
// free see to that themselves.
#define TIDE_CALL_REAL(call)                                                                       \
  ({                                                                                               \
    struct tide_thread *held_ = TIDE_UNLIKELY(tide_real.chained) ? tide_hold(&tide_self) : NULL;   \
    __typeof__(call) ret_ = (call);                                                                \
    if (TIDE_UNLIKELY(held_))                                                                      \
      tide_unhold(held_);                                                                          \
    ret_;                                                                                          \
  })
#define TIDE_CALL_REAL_VOID(call)                                                                  \
  do {                                                                                             \
    struct tide_thread *held_ = TIDE_UNLIKELY(tide_real.chained) ? tide_hold(&tide_self) : NULL;   \
    call;                                                                                          \
    if (TIDE_UNLIKELY(held_))                                                                      \
      tide_unhold(held_);                                                                          \
  } while (0)
