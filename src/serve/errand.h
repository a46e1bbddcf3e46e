// SPDX-License-Identifier: Apache-2.0
//
// What takes long is made by a fork of ours, which leaves it in memory that both have, while we go
// on answering:
//
//     we       start ──────────── other answers ────────────▶ look: done, and the bytes
//                │                                              │
//     fork       └──── work ────▶ memory ────▶ its end ─────────┘
//
// For a process with one thread: a fork of another one could wait for locks that nobody releases.
// What it works with is as it was at the start. It ends with us.
#pragma once
#include "base/buf.h"

#include <sys/types.h>

struct tide_errand { // all zero: there is none
  pid_t pid;
  int fd; // of the memory
};

// False: there can be no fork, or no memory.
bool tide_errand_start(struct tide_errand *errand,
                       void (*work)(void *context, struct tide_buf *out), void *context);

enum tide_errand_state { TIDE_ERRAND_RUNS, TIDE_ERRAND_DONE, TIDE_ERRAND_FAILED };

// Unless it runs there is none any more; of one that is done, *ret_bytes is what it made.
enum tide_errand_state tide_errand_look(struct tide_errand *errand, struct tide_buf *ret_bytes);

// Nobody wants it any more. None is fine.
void tide_errand_stop(struct tide_errand *errand);
