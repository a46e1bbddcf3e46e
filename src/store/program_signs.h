// SPDX-License-Identifier: Apache-2.0
//
// What a program's file gives away before it is started: an allocator that is linked into it, by a
// symbol; a sanitizer, by a symbol or by the library it asks for; privileges that it would gain, by
// its mode. The recorder looks before it becomes another program (exec/), the supervisor when it
// starts one or meets one (supervise/target_check.c), and both must come to the same verdict. What
// can then be hooked of an allocator is another matter: attach/families.def.
//
// Freestanding: included by the recorder and by the command.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

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

// Functions that a program calls by names which only such allocators have, and which the preloaded
// library does not: of a library that it needs.
#define TIDE_ALLOCATOR_CALLS(X)                                                                    \
  X("mi_malloc*", "mimalloc")                                                                      \
  X("mi_calloc*", "mimalloc")                                                                      \
  X("mi_zalloc*", "mimalloc")                                                                      \
  X("mi_new*", "mimalloc")                                                                         \
  X("mi_realloc*", "mimalloc")                                                                     \
  X("tc_malloc*", "tcmalloc")                                                                      \
  X("tc_calloc", "tcmalloc")                                                                       \
  X("tc_realloc", "tcmalloc")                                                                      \
  X("sn_malloc*", "snmalloc")                                                                      \
  X("sn_calloc", "snmalloc")                                                                       \
  X("sn_rust_*", "snmalloc")                                                                       \
  X("rpmalloc", "rpmalloc")                                                                        \
  X("rpcalloc", "rpmalloc")                                                                        \
  X("je_malloc*", "jemalloc")                                                                      \
  X("je_calloc", "jemalloc")                                                                       \
  X("je_realloc", "jemalloc")                                                                      \
  X("_rjem_*", "jemalloc")

// Runtimes that check every block themselves: they have a malloc, too, and are left alone.
#define TIDE_SANITIZER_SIGNS(X)                                                                    \
  X("__asan_init", "AddressSanitizer")                                                             \
  X("__hwasan_init", "HWAddressSanitizer")                                                         \
  X("__tsan_init", "ThreadSanitizer")

// What a program calls that links the recorder and has it around its own allocator
// (preload/around.c): that allocator is not hooked as well.
#define TIDE_SIGN_OF_US_AROUND "tidemark_v1_around_alloc"

// Where these runtimes are shared: how the names of their libraries begin. They insist on being
// loaded first, needed or preloaded: a program with one is started without us.
struct tide_sanitizer_library {
  const char *begin, *name;
};
static const struct tide_sanitizer_library TIDE_SANITIZER_LIBRARIES[] = {
    {"libasan.so", "AddressSanitizer"},     {"libclang_rt.asan", "AddressSanitizer"},
    {"libtsan.so", "ThreadSanitizer"},      {"libclang_rt.tsan", "ThreadSanitizer"},
    {"libhwasan.so", "HWAddressSanitizer"}, {"liblsan.so", "LeakSanitizer"},
    {"libmsan.so", "MemorySanitizer"},
};

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

// The sanitizer whose library a program asks for by this name (DT_NEEDED); NULL: it is another's.
static inline const char *tide_sanitizer_of(const char *library)
{
  for (size_t i = 0; i < sizeof TIDE_SANITIZER_LIBRARIES / sizeof *TIDE_SANITIZER_LIBRARIES; i++) {
    const char *name = library, *begin = TIDE_SANITIZER_LIBRARIES[i].begin;
    while (*begin && *name == *begin)
      name++, begin++;
    if (!*begin)
      return TIDE_SANITIZER_LIBRARIES[i].name;
  }
  return NULL;
}

// The sanitizer whose library a value of LD_PRELOAD names, with its path or without; NULL: none.
static inline const char *tide_sanitizer_in(const char *preload)
{
  for (; preload && *preload; preload++)
    if (tide_sanitizer_of(preload))
      return tide_sanitizer_of(preload);
  return NULL;
}

// Will the kernel tell the loader to distrust the environment, preloads included? Only if the
// program grants something that the process which becomes it does not have: root gains nothing by a
// setuid program of root's. (Without the right to be executed by its group, a setgid bit means
// something else.)
struct tide_credentials {
  uint32_t uid, euid, gid, egid;
};
static inline bool tide_program_gains(const struct stat *file, bool has_capabilities,
                                      struct tide_credentials c)
{
  bool by_user = file->st_mode & S_ISUID && (file->st_uid != c.euid || file->st_uid != c.uid);
  bool by_group = file->st_mode & S_ISGID && file->st_mode & S_IXGRP &&
                  (file->st_gid != c.egid || file->st_gid != c.gid);
  return by_user || by_group || (has_capabilities && c.uid != 0);
}
