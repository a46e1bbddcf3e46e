// SPDX-License-Identifier: Apache-2.0
//
// Whom a stack is blamed on. Of the frames that are not folded, the innermost one of the user's own
// code; a stack without any, as of a program that somebody else built, on the innermost one; when
// all are folded, on the first of the highest layer. Asked to blame libraries, own code and theirs
// are the same.
#pragma once
#include "view/naming.h"

struct tide_blame { // frames of the stack, the naming's; NULL: none
  const struct tide_named_frame *culprit;
  const struct tide_named_frame *via;    // what own code called: the outermost library frame inside
  const struct tide_named_frame *caller; // of a culprit without a name: the nearest that has one
};

extern const char *const tide_blamed_words[TIDE_BLAMED_N]; // "own", "library"

// Without a culprit when the stack is empty or the naming's limit on look-ups does not allow to
// tell. The same place gives the same pointer.
struct tide_blame tide_blame_stack(struct tide_naming *naming, uint32_t stack);
const struct tide_named_frame *tide_naming_culprit(struct tide_naming *naming, uint32_t stack);

// The same of frames that somebody else chose, innermost first: none of them is passed over because
// it is folded. at(context, i) is one of n.
struct tide_blame tide_blame_frames(const struct tide_naming *naming, size_t n,
                                    const struct tide_named_frame *(*at)(void *context, size_t i),
                                    void *context);

// ---- wrappers ----
//
// Wrappers of allocators that no rule knows, found by their shape: a function that allocates
// itself, gives what it allocates to many callers, in many sizes, and does hardly anything else on
// the way to an allocation. It is folded as an allocator is, and the report says so.
//
// A constructor is not one: it allocates one size. A function whose name does not speak of memory
// must have most of a program's allocations before it is taken for one.

// Folds them in a naming, from the largest stacks of its image; after its rules are set and before
// anything else is asked of it. A function that a rule of the user's is about stays as it is.
void tide_wrappers_fold(struct tide_naming *naming);

// Both fold what either does: so that two captures are compared by the same frames.
void tide_wrappers_share(struct tide_naming *a, struct tide_naming *b);
