// SPDX-License-Identifier: Apache-2.0
//
// Why a program ran unrecorded: said by the recorder of the process that starts it, found by the
// supervisor, and kept in the capture. Numbers are for good (docs/tide-format.md).
//
// Freestanding: included by the recorder and by the supervisor.
#pragma once

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
  X(OUTSIDE, 16, "outside")             /* refused: it may be of the run, and nothing shows it */

enum tide_why {
#define X(name, number, word) TIDE_WHY_##name = number,
  TIDE_WHY_LIST(X)
#undef X
      TIDE_WHY_N
};
