// SPDX-License-Identifier: Apache-2.0
//
// What every hook finds: the calling thread's seat (start.c) and the real functions.
//
// The latter are those behind the hooks, found with dlsym: libc's, or those of another allocator
// that was preloaded after us or linked. Until the first hook call has resolved them, the
// allocator's entries lead to stand-ins that do so.
#pragma once
#include "record/thread.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/types.h>

// Initial-exec: no call, no allocation.
extern __thread struct tide_seat tide_self __attribute__((tls_model("initial-exec")));

struct tide_real { // NULL: there is none, or another stands for it (hooks.def)
#define TIDE_HOOK(name, real, family, role, ret, params) ret(*name) params;
#include "store/hooks.def"
  bool resolved;
  bool chained;                   // the next malloc is not libc's
  bool owns_new;                  // ... and its library defines operator new as well
  void *(*next_malloc)(size_t n); // ... itself; malloc then leads there
  void (*next_free)(void *p);
  const char *allocator; // path of the library whose malloc is next; "" for libc
};
extern struct tide_real tide_real;

// Finds the real functions. Idempotent; blocks of memory asked for meanwhile come from a pool.
void tide_real_resolve(void);

// Is the calling thread resolving right now? Then nothing that happens is the program's.
bool tide_real_resolving(void);

// Is this one of the few blocks handed out while resolving? They are never freed.
bool tide_real_pool_holds(const void *p);
