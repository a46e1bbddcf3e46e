// SPDX-License-Identifier: Apache-2.0
//
// Stacks to cells.
#pragma once
#include "record/thread.h"

#define TIDE_CUT_KEY 1ull // no code address: "frames were left out here"

// depth: keep at most so many frames of a stack; 0: all.
void tide_intern_init(uint32_t depth);

// This thread's cell of the stack f[0..n-1], outermost first, hashes filled in, below the given
// root node; the frames are told their nodes. Never NULL but when the store is full beyond even a
// shared "lost" cell.
struct tide_cell *tide_intern(struct tide_thread *t, struct tide_unwind_frame *f, uint64_t n,
                              uint32_t root);
