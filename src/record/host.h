// SPDX-License-Identifier: Apache-2.0
//
// What the recorder asks of the way it is reached by, which defines tide_host: a preloaded library,
// or anything else that can tell these few things. Of symbols, the loader and thread-local storage
// the recorder itself knows nothing.
#pragma once
#include "rt/base.h"

struct tide_object;
struct tide_thread;

struct tide_host_image { // what the recorder is told of the image it is in; all that is pointed to
                         // stays
  const char *program;   // its path
  const char *const *argv;
  uint64_t argc;
  const char *allocator; // path of what defines malloc; "" for libc
  bool is_agent;         // the recorder was put into it, not loaded with it
  const char *unhooked;  // of an allocator of it that has no other way in, and why; NULL or ""
  const char *refused;   // all functions of allocators that do not lead to the recorder; same
  bool blocks_are_apart; // its blocks begin at least 32 bytes apart, as those of glibc do
  uint64_t vdso;         // start of the vDSO; 0: none
  uint64_t stack_top;    // of the main thread
  uint64_t stack_origin; // its stack pointer when the process began
  uint32_t depth;        // keep at most so many frames of a stack; 0: all
  uint32_t sample_bits;  // one sample for 2^n bytes (store/weight.h); 0: all events
  uint64_t sample_seed;  // 0: another one each time
  bool starts_paused;    // recording is off at first; where it is supervised, the store says so
  bool is_supervised;    // there is a beat, and the store is no file
  bool follows_forks;
};

struct tide_host {
  // Boot. The first event of an image: false, and it is not recorded, for a reason that was said.
  bool (*start)(struct tide_host_image *ret_image);
  // Maps a store of that many bytes, zeroed; NULL: none to be had, which was said.
  void *(*store)(bool forked, uint64_t bytes);
  // From now on there are events.
  void (*started)(void);
  // Objects. The first is called in any thread and in signal handlers and takes no lock; path is ""
  // for the program itself. The second calls `met` with a code address of every loaded object; only
  // on behalf of a call that the program made itself, so it may take the loader's locks.
  bool (*object_at)(uint64_t pc, struct tide_object *ret_object);
  void (*each_object)(void (*met)(uint64_t pc));
  // Threads. The calling thread has had its first event: its end is to be told (tide_thread_end).
  void (*thread_began)(struct tide_thread *t, uint32_t tid);
  // Its id, where the kernel must not be asked; 0: not known.
  uint32_t (*thread_id)(void);
  // Is the calling thread at work for the way in? Then nothing that happens is the program's.
  bool (*is_at_work)(void);
  // Is this a block that the way in has handed out itself, unrecorded?
  bool (*owns_block)(const void *p);
};
extern const struct tide_host tide_host;
