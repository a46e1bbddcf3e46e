// SPDX-License-Identifier: Apache-2.0
//
// What every hook is made of: an event from the recorder's core, and the real function.
#pragma once
#include "record/record.h"
#include "record/thread.h"
#include "store/call_names.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/types.h>

// ---- the real functions ----
//
// What every hook finds: the calling thread's seat (start.c) and the real functions.
//
// The latter are those behind the hooks, found with dlsym: libc's, or those of another allocator
// that was preloaded after us or linked. Until the first hook call has resolved them, the
// allocator's entries lead to stand-ins that do so.

// Initial-exec: no call, no allocation.
extern __thread struct tide_seat tide_self __attribute__((tls_model("initial-exec")));

struct tide_real { // NULL: there is none, or another stands for it (hooks.def)
#define TIDE_HOOK(name, real, family, role, ret, params) ret(*name) params;
#include "store/hooks.def"
  bool resolved;
  bool chained;  // the next malloc is not libc's
  bool holds;    // ... and may ask others for blocks: the gate is held
  bool owns_new; // ... and its library defines operator new as well
  // ... itself; malloc then leads there, holding the gate.
  void *(*next_malloc)(size_t n);
  void *(*next_calloc)(size_t n, size_t each);
  void *(*next_realloc)(void *old, size_t n);
  void (*next_free)(void *p);
  uint64_t own_start, own_end; // a library that is an allocator and nothing else; 0: there is none
  const char *allocator;       // path of the library whose malloc is next; "" for libc
};
extern struct tide_real tide_real;

// Finds the real functions. Idempotent; blocks of memory asked for meanwhile come from a pool.
void tide_real_resolve(void);

// Is the calling thread resolving right now? Then nothing that happens is the program's.
bool tide_real_resolving(void);

// Does the next allocator, and nobody else, make the call that returns to pc?
TIDE_HOT bool tide_real_calls(uint64_t pc)
{
  return pc - tide_real.own_start < tide_real.own_end - tide_real.own_start;
}

// Is this one of the few blocks handed out while resolving? They are never freed.
bool tide_real_pool_holds(const void *p);

// Does the program tell of an allocator of its own (around.c)? To be asked at boot.
bool tide_around_is_used(void);

// ---- hooks ----

// What the library exports.
#define TIDE_HOOK(name, real, family, role, ret, types)                                            \
  __attribute__((visibility("default"))) ret name types;
#include "store/hooks.def"

// What a hook ends with, and jumps to: whoever called the hook is the caller of it, too. Apart, so
// that a hook which only jumps on has no registers to save.
#ifdef __OPTIMIZE__
#define TIDE_JUMPED_TO __attribute__((noinline)) static
#else // it would be called, and the hook in between
#define TIDE_JUMPED_TO TIDE_HOT
#endif

// What a captured pc says of a hooked function: whose allocator it stands for matters not here,
// where there is one; which call it is does.
#define TIDE_TAG_OF(name, role)                                                                    \
  ((uint64_t)tide_tag(TIDE_FAMILY_LIBC, tide_call_of(TIDE_ROLE_##role, name)) << TIDE_PC_TAG_SHIFT)

// A block that was allocated. Takes the registers last: what comes before may have to call
// somebody. Is the block: malloc ends with it.
#define TIDE_RECORDED(p, size, tag)                                                                \
  ({                                                                                               \
    struct tide_thread *thread_ = tide_enter_alloc(&tide_self);                                    \
    TIDE_LIKELY(thread_)                                                                           \
    ? tide_record_at(thread_, TIDE_CAPTURE_TAGGED(&thread_->unwind, tag), (p), (size))             \
    : tide_sample_block(&tide_self, (p), (size), TIDE_CALLER_REGS_TAGGED(tag));                    \
  })

// Is an allocation of so many bytes known to be no sample? To be asked once for each.
#define TIDE_PASSES(size) tide_sample_passes(&tide_self, (size))

// What an allocation returned.
#define TIDE_RECORD(p, size, tag)                                                                  \
  do {                                                                                             \
    if (TIDE_UNLIKELY(!p))                                                                         \
      tide_record_failed();                                                                        \
    else if (!TIDE_PASSES(size))                                                                   \
      (void)TIDE_RECORDED(p, size, tag);                                                           \
  } while (0)

// In place of a function that there is not.
static inline void *tide_plain_alloc(size_t alignment, size_t n)
{
  return alignment > 16 ? aligned_alloc(alignment, n) : malloc(n);
}

// Calls the real function; where it is another allocator's, with the gate held if need be. Those of
// malloc and free see to that themselves.
#define TIDE_CALL_REAL(call) TIDE_CALL_HOLDING(tide_real.holds, call)
#define TIDE_CALL_HOLDING(if_so, call)                                                             \
  ({                                                                                               \
    bool holds_ = TIDE_UNLIKELY(if_so);                                                            \
    struct tide_held held_ = holds_ ? tide_hold(&tide_self) : (struct tide_held){0};               \
    __typeof__(call) ret_ = (call);                                                                \
    if (TIDE_UNLIKELY(holds_))                                                                     \
      tide_unhold(&tide_self, held_);                                                              \
    ret_;                                                                                          \
  })
#define TIDE_CALL_HOLDING_VOID(if_so, call) TIDE_CALL_HOLDING(if_so, ((call), 0))
