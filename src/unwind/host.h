// SPDX-License-Identifier: Apache-2.0
//
// What the unwinder needs of its host: which code there is, and names for stacks.
#pragma once
#include "rt/base.h"

struct tide_object;
struct tide_unwind;
struct tide_unwind_frame;

// How a walk ended: at an outermost frame, or where nothing was known.
enum tide_walk_end { TIDE_WALK_WHOLE, TIDE_WALK_BROKEN };

struct tide_unwind_host {
  // The object that holds a code address; false: none. Called in any thread and in signal handlers,
  // so it may take no lock that the program's threads hold.
  bool (*object_at)(uint64_t pc, struct tide_object *ret_object);
  // A rule is about to be made for code of an object, so before any stack through new code is
  // hashed. Fills in what of it may be read, as it was when the object was first met
  // (tide_object_measure).
  void (*object_met)(struct tide_object *object);
  // The token of the stack whose n frames are given, outermost first, hashes filled in. Called when
  // a stack is not known by the caches.
  void *(*stack_token)(struct tide_unwind *u, struct tide_unwind_frame *frames, uint64_t n,
                       enum tide_walk_end end);
};

extern const struct tide_unwind_host *tide_unwind_host; // set before anything is unwound
