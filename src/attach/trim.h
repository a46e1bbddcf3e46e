// SPDX-License-Identifier: Apache-2.0
//
// malloc_trim(0), called in a process that runs: what it gives back, measured.
//
// It is the program's own function and takes its locks, so a thread calls it that cannot have one
// of them: it waits in a system call that malloc never makes (for input, a time, a condition), and
// not in a handler of a signal, which may have interrupted malloc. The others run on, so whoever
// has a lock gives it back. The thread is not traced meanwhile: it comes back by itself to where it
// was, its system call is made again, and the memory that this took is unmapped.
#pragma once
#include "base/err.h"

#include <stdint.h>

struct tide_trim_tried {
  uint64_t rss_before, rss_after; // bytes, as the kernel counts
  uint64_t took_ns;
  uint64_t left_bytes; // mapped for it, and left there: somebody may still need it
};

// In a process of its own: call it before any thread is started. Refuses where it is not certain
// that nobody is harmed.
enum tide_err tide_trim_try(uint32_t pid, struct tide_trim_tried *ret_tried,
                            struct tide_diag *diag);
