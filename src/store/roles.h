// SPDX-License-Identifier: Apache-2.0
//
// What a hooked function does, and at which arguments: the words of hooks.def and of
// attach/families.def.
#pragma once

#define TIDE_ROLE_LIST(X)                                                                          \
  X(ALLOC)           /* p = f(size, ...) */                                                        \
  X(ALLOC_ALIGNED)   /* p = f(size, alignment, ...) */                                             \
  X(ALLOC_SECOND)    /* p = f(alignment, size, ...) */                                             \
  X(NEW)             /* p = f(size), or it throws */                                               \
  X(NEW_ALIGNED)     /* p = f(size, alignment), or it throws */                                    \
  X(CALLOC)          /* p = f(n, each, ...) */                                                     \
  X(REALLOC)         /* p = f(old, size, ...) */                                                   \
  X(REALLOC_ARRAY)   /* p = f(old, n, each, ...) */                                                \
  X(POSIX)           /* error = f(&p, alignment, size) */                                          \
  X(RESIZE_IN_PLACE) /* size = f(old, size, extra, ...) */                                         \
  X(FREE)            /* f(p, ...) */                                                               \
  X(MAP)             /* p = f(at, size, ...) */                                                    \
  X(UNMAP)           /* f(at, size) */                                                             \
  X(REMAP)           /* p = f(at, old size, size, ...) */                                          \
  X(BREAK)           /* f(to), or f(by) */                                                         \
  X(EXEC)            /* f(path, arguments, environment), or it fails */                            \
  X(NO_EVENT)        /* nothing to record */

enum tide_role {
#define X(name) TIDE_ROLE_##name,
  TIDE_ROLE_LIST(X)
#undef X
};
