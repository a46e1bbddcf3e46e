// SPDX-License-Identifier: Apache-2.0
//
// One set of numbers for the store, for .tide files and for the page's data: what a stack is of,
// what is said of its frames, and why a program ran unrecorded. They are for good
// (docs/tide-format.md).
//
// Freestanding: included by the recorder and by the supervisor.
#pragma once
#include <stdint.h>

enum tide_site_kind {
  TIDE_SITE_HEAP,
  TIDE_SITE_PAGES, // mmap and brk by the program itself: never part of the heap's totals
  TIDE_SITE_LOST,  // heap events whose stack found no room: in the totals, without a place
};

enum tide_frame_flags {
  TIDE_FRAME_IS_EXACT = 1, // pc is exact; otherwise it is a return address: look up pc - 1
  TIDE_FRAME_GUESSED = 2,  // its caller was found by frame pointer alone: no unwind info there
  TIDE_FRAME_CUT = 4,      // not a frame: frames were left out here (depth limit or lost walk)
  TIDE_FRAME_PAGES = 8,    // not a frame: root of page-level (mmap, brk) stacks
  TIDE_FRAME_LOST = 16,    // not a frame: root for events whose stack found no room
  TIDE_FRAME_SCOPE = 128,  // not a frame: a scope of the program's, outside of its outermost frame
  TIDE_FRAME_STORED = 159, // all of the above, which are in stores and files; the page has besides
  TIDE_FRAME_INLINED = 32, // into the next outer frame
  TIDE_FRAME_PRUNED = 64,  // not a frame: stands for the callers of stacks that were gathered
  TIDE_FRAME_CALL = 3840,  // of a stack's innermost frame: which call allocated, see enum tide_call
};
enum { TIDE_FRAME_CALL_SHIFT = 8 };

static inline enum tide_site_kind tide_kind_of_root(uint32_t flags)
{
  return flags & TIDE_FRAME_PAGES  ? TIDE_SITE_PAGES
         : flags & TIDE_FRAME_LOST ? TIDE_SITE_LOST
                                   : TIDE_SITE_HEAP;
}

// ---- allocators ----

// What a #[global_allocator] has by itself, wherever it is named (rust_names.h).
#define TIDE_RUST_OWN "a Rust allocator of its own"

// X(name, number, words). The number is also in the pcs of the agent's events (unwind/walk.h).
#define TIDE_FAMILY_LIST(X)                                                                        \
  X(LIBC, 0, "libc's malloc")                                                                      \
  X(JEMALLOC, 1, "jemalloc")                                                                       \
  X(MIMALLOC, 2, "mimalloc")                                                                       \
  X(TCMALLOC, 3, "tcmalloc")                                                                       \
  X(SNMALLOC, 4, "snmalloc")                                                                       \
  X(RPMALLOC, 5, "rpmalloc")                                                                       \
  X(OWN, 6, "an allocator of its own") /* the program's malloc, and nothing says whose */          \
  X(PAGES, 7, "pages")                 /* no allocator: what they and programs map */              \
  X(MOZJEMALLOC, 12, "mozjemalloc")                                                                \
  X(RUST, 13, TIDE_RUST_OWN)                                                                       \
  X(PARTITION, 14, "PartitionAlloc")                                                               \
  X(EVENTS, 61, "ad hoc events") /* no allocator: what a program counts by tidemark_event() */     \
  X(POOLS, 62, "its own pools")  /* what a program tells of by tidemark_block_alloc() */           \
  X(UNKNOWN, 63, "an allocator that is not known here")

enum tide_family {
#define X(name, number, words) TIDE_FAMILY_##name = number,
  TIDE_FAMILY_LIST(X)
#undef X
      TIDE_FAMILIES_N
};

static inline const char *tide_family_words(uint32_t family)
{
  switch (family) {
#define X(name, number, words)                                                                     \
  case number: return words;
    TIDE_FAMILY_LIST(X)
#undef X
  default: return tide_family_words(TIDE_FAMILY_UNKNOWN);
  }
}

// ---- which call allocated ----
//
// By which of an allocator's functions the blocks of a stack came, whatever prefix or suffix it has
// in the allocator. It is a part of what a stack is: the same frames with another call are another
// stack. An operator new that calls malloc is a frame of the stack, and the call is malloc.

// Which function is which is in store/call_names.h, their words in model/call_words.h.
enum tide_call {
  TIDE_CALL_UNTOLD,  // other tools' files, and our own of before
  TIDE_CALL_MALLOC,  // and what is like it: mallocx, __rust_alloc
  TIDE_CALL_CALLOC,  // or another that gives zeroes
  TIDE_CALL_REALLOC, // or another that resizes
  TIDE_CALL_ALIGNED, // posix_memalign, aligned_alloc, memalign, valloc
  TIDE_CALL_NEW,     // any; of who has one that calls no malloc
  TIDE_CALL_MMAP,
  TIDE_CALL_MREMAP,
  TIDE_CALL_BRK,  // or sbrk
  TIDE_CALL_TOLD, // tidemark_block_alloc(), tidemark_around_alloc()
  TIDE_CALLS_N
};

static inline enum tide_call tide_call_of_flags(uint32_t frame_flags)
{
  uint32_t call = (frame_flags & TIDE_FRAME_CALL) >> TIDE_FRAME_CALL_SHIFT;
  return call < TIDE_CALLS_N ? (enum tide_call)call : TIDE_CALL_UNTOLD; // of a later format
}

// Family and call as the six bits that a captured pc has for both (unwind/walk.h). A family's
// number stands for its malloc, too, and libc's malloc, the most frequent, for nothing to set.
//
//   0 .. 7, 12 .. 14, 61 .. 63   that family, MALLOC; PAGES: MMAP; EVENTS: UNTOLD; POOLS: TOLD
//   16 .. 59                     16 + 11 * (call - CALLOC) + n: the n-th allocator's
//   8, 9, 60                     BRK; LIBC and TOLD; MREMAP
enum { TIDE_TAG_BRK = 8, TIDE_TAG_TOLD = 9, TIDE_TAG_OTHERS = 16, TIDE_TAG_MREMAP = 60 };
enum { TIDE_TAG_FAMILIES = 11 };

static inline uint32_t tide_tag(uint32_t family, enum tide_call call)
{
  uint32_t n = family <= TIDE_FAMILY_OWN           ? family
               : family == TIDE_FAMILY_MOZJEMALLOC ? 7
               : family == TIDE_FAMILY_RUST        ? 8
               : family == TIDE_FAMILY_PARTITION   ? 9
                                                   : 10;
  if (call >= TIDE_CALL_CALLOC && call <= TIDE_CALL_NEW)
    return TIDE_TAG_OTHERS + TIDE_TAG_FAMILIES * (uint32_t)(call - TIDE_CALL_CALLOC) + n;
  if (family == TIDE_FAMILY_LIBC && call == TIDE_CALL_TOLD)
    return TIDE_TAG_TOLD;
  return call == TIDE_CALL_MREMAP ? TIDE_TAG_MREMAP : call == TIDE_CALL_BRK ? TIDE_TAG_BRK : family;
}

static inline uint32_t tide_tag_family(uint32_t tag)
{
  static const uint8_t others[TIDE_TAG_FAMILIES] = {
      TIDE_FAMILY_LIBC,     TIDE_FAMILY_JEMALLOC,  TIDE_FAMILY_MIMALLOC, TIDE_FAMILY_TCMALLOC,
      TIDE_FAMILY_SNMALLOC, TIDE_FAMILY_RPMALLOC,  TIDE_FAMILY_OWN,      TIDE_FAMILY_MOZJEMALLOC,
      TIDE_FAMILY_RUST,     TIDE_FAMILY_PARTITION, TIDE_FAMILY_UNKNOWN,
  };
  if (tag == TIDE_TAG_BRK || tag == TIDE_TAG_MREMAP)
    return TIDE_FAMILY_PAGES;
  if (tag == TIDE_TAG_TOLD)
    return TIDE_FAMILY_LIBC;
  return tag >= TIDE_TAG_OTHERS && tag < TIDE_TAG_MREMAP
             ? others[(tag - TIDE_TAG_OTHERS) % TIDE_TAG_FAMILIES]
             : tag;
}

static inline enum tide_call tide_tag_call(uint32_t tag)
{
  switch (tag) {
  case TIDE_TAG_BRK: return TIDE_CALL_BRK;
  case TIDE_TAG_MREMAP: return TIDE_CALL_MREMAP;
  case TIDE_FAMILY_PAGES: return TIDE_CALL_MMAP;
  case TIDE_FAMILY_EVENTS: return TIDE_CALL_UNTOLD;
  case TIDE_FAMILY_POOLS:
  case TIDE_TAG_TOLD: return TIDE_CALL_TOLD;
  default:
    return tag >= TIDE_TAG_OTHERS && tag < TIDE_TAG_MREMAP
               ? (enum tide_call)(TIDE_CALL_CALLOC + (tag - TIDE_TAG_OTHERS) / TIDE_TAG_FAMILIES)
               : TIDE_CALL_MALLOC;
  }
}

// ---- why a program ran unrecorded ----
//
// Why a program ran unrecorded: said by the recorder of the process that starts it, found by the
// supervisor, and kept in the capture.

// X(name, number, word in JSON)
#define TIDE_WHY_LIST(X)                                                                           \
  X(UNKNOWN, 0, "unknown")              /* it ran and never came; nothing tells why */             \
  X(STATIC, 1, "static")                /* no dynamic loader: nothing can be preloaded */          \
  X(MUSL, 2, "musl")                    /* musl's loader */                                        \
  X(OTHER_LOADER, 3, "loader")          /* some other loader than glibc's */                       \
  X(PRIVILEGED, 4, "privileged")        /* setuid, setgid, capabilities: preloads are ignored */   \
  X(BITS_32, 5, "32-bit")               /* */                                                      \
  X(OTHER_MACHINE, 6, "machine")        /* for another processor */                                \
  X(SANITIZER, 7, "sanitizer")          /* its runtime insists on being loaded first */            \
  X(OWN_ALLOCATOR, 8, "allocator")      /* one is linked in, which the hooks do not see */         \
  X(TOO_LONG, 9, "arguments")           /* arguments and variables leave no room for ours */       \
  X(NO_LIBRARY, 10, "library")          /* the recorder's file is not to be seen from there */     \
  X(NO_ENVIRONMENT, 11, "environment")  /* an unrecorded program started it without ours */        \
  X(NO_STORE, 12, "store")              /* it came, and no store could be made for it */           \
  X(UNSEEN_MEMORY, 13, "unseen-memory") /* most of its memory came from nowhere that is hooked */  \
  X(NO_ANSWER, 14, "answer")            /* it asked, and gave up before it was answered */         \
  X(NAMESPACE, 15, "namespace")         /* its user namespace hides whose the supervisor is */     \
  X(OUTSIDE, 16, "outside")             /* refused: it may be of the run, and nothing shows it */  \
  X(LOADED_LATER, 17, "loaded-later")   /* a library came whose allocator could not be hooked */   \
  X(PAGES_ONLY, 18, "pages-only")       /* no allocator of it is known: its pages were recorded */ \
  X(INLINED, 19, "inlined")             /* its own allocator's functions are, or may be */         \
  X(UNHOOKED, 20, "unhooked")           /* no function of an allocator of it could be hooked */    \
  X(UNTOLD, 21, "untold")               /* Rust's, and its file does not say whose allocator */    \
  X(LEFT_BEHIND, 22, "left-behind")     /* it went on, and had not come when the recording ended */

enum tide_why {
#define X(name, number, word) TIDE_WHY_##name = number,
  TIDE_WHY_LIST(X)
#undef X
      TIDE_WHY_N
};

// ---- what a hooked function does ----
//
// What a hooked function does, and at which arguments: the words of hooks.def and of
// attach/families.def.

#define TIDE_ROLE_LIST(X)                                                                          \
  X(ALLOC)           /* p = f(size, ...) */                                                        \
  X(ALLOC_ALIGNED)   /* p = f(size, alignment, ...) */                                             \
  X(ALLOC_SECOND)    /* p = f(alignment, size, ...) */                                             \
  X(NEW)             /* p = f(size), or it throws */                                               \
  X(NEW_ALIGNED)     /* p = f(size, alignment), or it throws */                                    \
  X(CALLOC)          /* p = f(n, each, ...) */                                                     \
  X(REALLOC)         /* p = f(old, size, ...) */                                                   \
  X(REALLOC_ARRAY)   /* p = f(old, n, each, ...) */                                                \
  X(REALLOC_FOURTH)  /* p = f(old, old size, alignment, size) */                                   \
  X(POSIX)           /* error = f(&p, alignment, size) */                                          \
  X(RESIZE_IN_PLACE) /* size = f(old, size, extra, ...) */                                         \
  X(FREE)            /* f(p, ...) */                                                               \
  X(TEXT)            /* p = f(text, ...), a copy of it */                                          \
  X(ARENA_ALIGNED)   /* p = f(arena, alignment, size) */                                           \
  X(ARENA_CALLOC)    /* p = f(arena, n, each) */                                                   \
  X(ARENA_REALLOC)   /* p = f(arena, old, size) */                                                 \
  X(ARENA_FREE)      /* f(arena, p) */                                                             \
  X(MAP)             /* p = f(at, size, ...) */                                                    \
  X(UNMAP)           /* f(at, size) */                                                             \
  X(REMAP)           /* p = f(at, old size, size, ...) */                                          \
  X(BREAK)           /* f(to), or f(by) */                                                         \
  X(EXEC)            /* f(path, arguments, environment), or it fails */                            \
  X(VOW)             /* prctl(what, ...): it may bind itself */                                    \
  X(CALL)            /* syscall(number, ...): the same */                                          \
  X(UNLOAD)          /* f(handle): code may be gone */                                             \
  X(LOADED)          /* f(): the loader says that libraries come, or are there or gone */          \
  X(ASK)             /* answer = f(what, ...): the program asks (tidemark.h) */                    \
  X(NO_EVENT)        /* nothing to record */

enum tide_role {
#define X(name) TIDE_ROLE_##name,
  TIDE_ROLE_LIST(X)
#undef X
};
