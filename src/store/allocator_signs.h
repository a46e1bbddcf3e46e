// SPDX-License-Identifier: Apache-2.0
//
// How an allocator that is linked into a program gives itself away: by a symbol that its file
// defines. The recorder looks before it becomes another program (exec/exec_allocator.c), the
// supervisor when it starts one or meets one (supervise/target_check.c), and both must come to the
// same verdict. What can then be hooked of it is another matter: attach/families.def.
//
// Freestanding: included by the recorder and by the command.
#pragma once
#include <stdbool.h>

// X(symbol, the allocator's name); an asterisk at the end stands for any ending. (malloc_conf is
// not among them: a program defines it to configure a shared jemalloc.)
#define TIDE_ALLOCATOR_SIGNS(X)                                                                    \
  X("_rjem_malloc", "jemalloc")                                                                    \
  X("_rjem_mallocx", "jemalloc")                                                                   \
  X("je_malloc", "jemalloc")                                                                       \
  X("je_mallocx", "jemalloc")                                                                      \
  X("mallocx", "jemalloc")                                                                         \
  X("mi_malloc*", "mimalloc")                                                                      \
  X("tc_malloc*", "tcmalloc")                                                                      \
  X("TCMalloc*", "tcmalloc")                                                                       \
  X("_ZN8tcmalloc*", "tcmalloc")                                                                   \
  X("sn_malloc*", "snmalloc")                                                                      \
  X("sn_rust_alloc*", "snmalloc")                                                                  \
  X("rpmalloc", "rpmalloc")

// Runtimes that check every block themselves: they have a malloc, too, and are left alone.
#define TIDE_SANITIZER_SIGNS(X)                                                                    \
  X("__asan_init", "AddressSanitizer")                                                             \
  X("__hwasan_init", "HWAddressSanitizer")                                                         \
  X("__tsan_init", "ThreadSanitizer")

// A program's own, whosever it is.
#define TIDE_SIGN_OF_ANY "malloc"

// Where musl's loader is, which is also its libc, on a machine that has it. (TIDE_ARCH_ID:
// rt/arch.h)
#define TIDE_MUSL_LOADER                                                                           \
  (TIDE_ARCH_ID == TIDE_ARCH_X86_64 ? "/lib/ld-musl-x86_64.so.1" : "/lib/ld-musl-aarch64.so.1")

// Is it the symbol of one of the rows above?
static inline bool tide_allocator_sign_is(const char *name, const char *symbol)
{
  for (; *symbol && *symbol != '*'; symbol++, name++)
    if (*name != *symbol)
      return false;
  return *symbol || !*name;
}
