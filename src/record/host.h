// SPDX-License-Identifier: Apache-2.0
//
// What the recorder asks of the way it is reached by, which defines tide_host: a preloaded library,
// or anything else that can tell these few things. Of symbols, the loader and thread-local storage
// the recorder itself knows nothing.
#pragma once
#include "rt/base.h"

struct tide_object;
struct tide_thread;

struct tide_host {
  // Objects. The first is called in any thread and in signal handlers and takes no lock; path is ""
  // for the program itself. The second calls `met` with a code address of every loaded object; only
  // on behalf of a call that the program made itself, so it may take the loader's locks.
  bool (*object_at)(uint64_t pc, struct tide_object *ret_object);
  void (*each_object)(void (*met)(uint64_t pc));
  // Threads. The calling thread has had its first event: its end is to be told (tide_thread_end).
  void (*thread_began)(struct tide_thread *t, uint32_t tid);
  // Is the calling thread at work for the way in? Then nothing that happens is the program's.
  bool (*is_at_work)(void);
  // Is this a block that the way in has handed out itself, unrecorded?
  bool (*owns_block)(const void *p);
};
extern const struct tide_host tide_host;
