// SPDX-License-Identifier: Apache-2.0
//
// Stack capture: registers in, a token out that stands for the whole stack.
//
// One unwind step is a pure function of (pc, sp, fp) and of a few words on the stack. So if the
// start state is the same and those words are unchanged, the stack is the same: no heuristics,
// and nothing is ever written to the target's stack. Three tries, cheapest first:
//   1. the stack that was last unwound: all its words compared, 0.35 ns per frame;
//   2. a memo of stacks, verified the same way, foreseen or found by what is on the stack: memo.h;
//   3. an incremental unwind that stops where it meets the last capture (walk.c).
//
// Invariants
//  1. Everything is per thread; the rules alone are shared.
//  2. Cached words are only read while sp is inside the thread's own known stack: the words of
//     another stack (a coroutine's, a signal stack) may be unmapped by now. Elsewhere: a full walk.
//  3. Frames are kept outermost first; the hash of frame i covers frames 0..i.
//  4. A token is believed only if every word it was derived from still has its value.
#pragma once
#include "unwind/walk.h"

// Registers of the caller of the function this stands in, which must be built with a frame
// pointer: its frame record holds the caller's fp; the CFA is the caller's sp after the return.
// Read anew each time: kept, it would take a register that has to be saved.
#define TIDE_CALLER_REGS_TAGGED(tag)                                                               \
  ((struct tide_regs){                                                                             \
      (uint64_t)__builtin_extract_return_addr(__builtin_return_address(0)) | (tag),                \
      (uint64_t)__builtin_dwarf_cfa(), *(volatile uint64_t *)__builtin_frame_address(0)})
#define TIDE_CALLER_REGS() TIDE_CALLER_REGS_TAGGED(0)

// All tries but the first. Kept out of line, so that the first one needs few registers.
void *tide_capture_slow(struct tide_unwind *u, uint64_t pc, uint64_t sp, uint64_t fp);

// Of the first try, the words that are not packed.
bool tide_rest_valid(struct tide_unwind *u);

// The same start state means the same stack pointer, so the words are on the thread's own stack.
TIDE_HOT bool tide_last_valid(struct tide_unwind *u, struct tide_regs r)
{
  if ((u->leaf_pc ^ r.pc) | (u->leaf_sp ^ r.sp) | ((u->leaf_fp ^ r.fp) & u->leaf_fp_mask))
    return false;
  if (tide_packed_changed(u->packed, u->packed_end, r.sp))
    return false;
  return TIDE_LIKELY(u->words == u->words_end) || tide_rest_valid(u);
}

TIDE_HOT void *tide_capture(struct tide_unwind *u, struct tide_regs r)
{
  if (TIDE_LIKELY(tide_last_valid(u, r)))
    return u->leaf_token;
  return tide_capture_slow(u, r.pc, r.sp, r.fp);
}

// The same of the caller's stack, with a tag for its pc (walk.h).
#define TIDE_CAPTURE_TAGGED(u, tag)                                                                \
  (TIDE_LIKELY(tide_last_valid((u), TIDE_CALLER_REGS_TAGGED(tag))) ? (u)->leaf_token : ({          \
    struct tide_regs regs_ = TIDE_CALLER_REGS_TAGGED(tag);                                         \
    tide_capture_slow((u), regs_.pc, regs_.sp, regs_.fp);                                          \
  }))
