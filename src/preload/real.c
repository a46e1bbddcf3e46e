// SPDX-License-Identifier: Apache-2.0
//
// Resolving the real functions. dlsym allocates when it fails to find a symbol, so it is asked only
// for what is there (loader.h); should it allocate all the same and come back to our hooks, those
// calls are served from a small pool that is never freed.

#include "preload/hook.h"

#include "preload/loader.h"
#include "rt/sys.h"
#include "rt/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

static char pool[1 << 16] TIDE_BULKY __attribute__((aligned(16)));
static size_t pool_used;
static void *resolving_thread; // a thread pointer

bool tide_real_pool_holds(const void *p)
{
  return (uintptr_t)p - (uintptr_t)pool < sizeof pool;
}

static void *from_pool(size_t n)
{
  size_t at = tide_add_relaxed(&pool_used, (n + 15) & ~(size_t)15);
  return n <= sizeof pool && at <= sizeof pool - n ? pool + at : NULL;
}

bool tide_real_resolving(void)
{
  return resolving_thread == __builtin_thread_pointer();
}

static void *first_malloc(size_t n)
{
  if (tide_real_resolving())
    return from_pool(n);
  tide_real_resolve();
  return tide_real.malloc(n);
}

static void *first_calloc(size_t n, size_t each)
{
  if (tide_real_resolving())
    return from_pool(n * each); // the pool is zero
  tide_real_resolve();
  return tide_real.calloc(n, each);
}

static void *first_realloc(void *old, size_t n)
{
  if (tide_real_resolving()) {
    void *p = from_pool(n);
    if (p && old)
      memcpy(p, old, n < 256 ? n : 256); // dlerror's texts are short
    return p;
  }
  tide_real_resolve();
  return tide_real.realloc(old, n);
}

static void first_free(void *p)
{
  if (tide_real_resolving() || tide_real_pool_holds(p))
    return;
  tide_real_resolve();
  tide_real.free(p);
}

struct tide_real tide_real = {
    .malloc = first_malloc,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .free = first_free,
    .allocator = "",
};

// What malloc and its kin lead to where another allocator is next: that one's, with the gate held.
// Not where it is known to ask nobody for blocks: what it maps is known by who calls
// (hooks_pages.c).
static void *held_malloc(size_t n)
{
  struct tide_held held = tide_hold(&tide_self);
  void *p = tide_real.next_malloc(n);
  tide_unhold(&tide_self, held);
  return p;
}

static void *held_calloc(size_t n, size_t each)
{
  struct tide_held held = tide_hold(&tide_self);
  void *p = tide_real.next_calloc(n, each);
  tide_unhold(&tide_self, held);
  return p;
}

static void *held_realloc(void *old, size_t n)
{
  struct tide_held held = tide_hold(&tide_self);
  void *p = tide_real.next_realloc(old, n);
  tide_unhold(&tide_self, held);
  return p;
}

static void held_free(void *p)
{
  struct tide_held held = tide_hold(&tide_self);
  tide_real.next_free(p);
  tide_unhold(&tide_self, held);
}

// What free and realloc lead to until it is known that the pool gave nothing, and then if it did.
static void (*free_outside_pool)(void *p);
static void *(*realloc_outside_pool)(void *old, size_t n);

static void free_unless_pooled(void *p)
{
  if (!tide_real_pool_holds(p))
    free_outside_pool(p);
}

// A block from the boot pool cannot be resized by anybody: a fresh block takes its content.
static void *realloc_unless_pooled(void *old, size_t n)
{
  if (!tide_real_pool_holds(old))
    return realloc_outside_pool(old, n);
  void *p = tide_real.malloc(n);
  return p && n ? memcpy(p, old, n < 256 ? n : 256) : p;
}

static const struct link_map *library_of(const void *function)
{
  struct dl_find_object found;
  return function && !_dl_find_object((void *)function, &found) ? found.dlfo_link_map : NULL;
}

// Libraries that hold an allocator and none of the program's code, and whose malloc and free call
// neither malloc nor free of anybody. Of those that check blocks, or that nobody has read, it is
// not known.
static bool is_allocator_alone(const char *path)
{
  static const char *const names[] = {"/libjemalloc.so", "/libtcmalloc.so",
                                      "/libtcmalloc_minimal.so", "/libmimalloc.so"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (tide_text_find(path, names[i]))
      return true;
  return false;
}

// Allocator libraries define even libc's private names (__libc_malloc), so the only question that
// can be trusted is: which object is the next malloc in, and is it the one that libc is in?
static void recognise(struct tide_real *real)
{
  const struct link_map *next = library_of((void *)real->malloc);
  real->chained = next != library_of(dlsym(RTLD_NEXT, "gnu_get_libc_version"));
  if (!real->chained)
    return;
  real->allocator = next && next->l_name ? next->l_name : "";
  real->owns_new = next && library_of((void *)real->_Znwm) == next;
  struct dl_find_object found;
  if (is_allocator_alone(real->allocator) && !_dl_find_object((void *)real->malloc, &found)) {
    real->own_start = (uint64_t)found.dlfo_map_start;
    real->own_end = (uint64_t)found.dlfo_map_end;
    return;
  }
  real->holds = true;
  real->next_malloc = real->malloc;
  real->next_calloc = real->calloc;
  real->next_realloc = real->realloc;
  real->next_free = real->free;
  real->malloc = held_malloc;
  real->calloc = held_calloc;
  real->realloc = held_realloc;
  real->free = held_free;
}

static void *next(const struct tide_defined_scan *scan, const char *name)
{
  return tide_defined_after(scan, name) ? dlsym(RTLD_NEXT, name) : NULL;
}

TIDE_COLD void tide_real_resolve(void)
{
  void *nobody = NULL;
  if (tide_real.resolved)
    return;
  if (!__atomic_compare_exchange_n(&resolving_thread, &nobody, __builtin_thread_pointer(), false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    // Another thread is at it. It waits for no lock of ours; give it a second at most.
    for (int i = 0; i < 1000 && !tide_load_acquire(&tide_real.resolved); i++) {
      long ms[2] = {0, 1000000};
      TIDE_SYS(SYS_nanosleep, ms, 0);
    }
    return;
  }
  int saved = errno;
  struct tide_real real = {.allocator = ""};
  struct tide_defined_scan scan;
  tide_defined_begin(&tide_real, &scan);
#define TIDE_HOOK(name, behind, family, role, ret, params)                                         \
  if (tide_text_equal(#name, #behind))                                                             \
    real.name = (ret(*) params)next(&scan, #name);
#include "store/hooks.def"
  recognise(&real);
  free_outside_pool = real.free;
  realloc_outside_pool = real.realloc;
  real.free = free_unless_pooled;
  real.realloc = realloc_unless_pooled;
  tide_real = real;
  tide_store_release(&tide_real.resolved, true);
  tide_store_release(&resolving_thread, NULL);
  // The pool gives no more, not to a signal handler in this thread either.
  if (!tide_load_relaxed(&pool_used)) {
    tide_store_release(&tide_real.free, free_outside_pool);
    tide_store_release(&tide_real.realloc, realloc_outside_pool);
  }
  errno = saved;
}
