// SPDX-License-Identifier: Apache-2.0
//
// Wrappers of allocators that no rule knows, found by their shape: a function that allocates
// itself, gives what it allocates to many callers, in many sizes, and does hardly anything else on
// the way to an allocation. It is folded as an allocator is, and the report says so.
//
// A constructor is not one: it allocates one size. A function whose name does not speak of memory
// must have most of a program's allocations before it is taken for one.
#pragma once
#include "view/naming.h"

// Folds them in a naming, from the largest stacks of its image; after its rules are set and before
// anything else is asked of it. A function that a rule of the user's is about stays as it is.
void tide_wrappers_fold(struct tide_naming *naming);

// Both fold what either does: so that two captures are compared by the same frames.
void tide_wrappers_share(struct tide_naming *a, struct tide_naming *b);
