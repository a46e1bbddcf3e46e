// SPDX-License-Identifier: Apache-2.0
//
// Has a recorded image an allocator that the hooks did not see? Its profile would be of nothing, or
// of the little that libc itself allocates, and look complete.
//
//  1. The program defines malloc: everybody finds that one before ours. Unless it passes on to the
//     next (a wrapper), nothing or next to nothing was counted.
//  2. It has the symbols or messages of an allocator that it calls by other names (_rjem_malloc,
//     je_malloc, Go's runtime). Unless most of its memory was recorded all the same, it was used.
//  3. Most of its memory is neither in a recorded block nor mapped through libc.
#pragma once
#include "model/model.h"

struct tide_own_allocators;

struct tide_own_allocators *tide_own_allocators_new(void);
void tide_own_allocators_free(struct tide_own_allocators *allocators); // NULL is fine

// What a program's file shows that goes with the reason why it is not recorded: the allocator of a
// static program, the name of a sanitizer. NULL: nothing. Lives as long as the allocators.
const char *tide_own_allocators_detail(struct tide_own_allocators *allocators, const char *exe,
                                       enum tide_why why);

// True: it has, and row's why and detail say which; detail lives as long as the allocators.
bool tide_own_allocator_judge(struct tide_own_allocators *allocators,
                              const struct tide_image *image, uint64_t max_anonymous_bytes,
                              struct tide_unrecorded *row);
