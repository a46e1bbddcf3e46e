// SPDX-License-Identifier: Apache-2.0
//
// What a stack is of, and what is said of its frames: one set of numbers for the store, for .tide
// files and for the page's data. They are for good (docs/tide-format.md).
//
// Freestanding: included by the recorder and by the supervisor.
#pragma once
#include <stdint.h>

enum tide_site_kind {
  TIDE_SITE_HEAP,
  TIDE_SITE_PAGES, // mmap and brk by the program itself: never part of the heap's totals
  TIDE_SITE_LOST,  // heap events whose stack found no room: in the totals, without a place
};

enum tide_frame_flags {
  TIDE_FRAME_IS_EXACT = 1, // pc is exact; otherwise it is a return address: look up pc - 1
  TIDE_FRAME_GUESSED = 2,  // its caller was found by frame pointer alone: no unwind info there
  TIDE_FRAME_CUT = 4,      // not a frame: frames were left out here (depth limit or lost walk)
  TIDE_FRAME_PAGES = 8,    // not a frame: root of page-level (mmap, brk) stacks
  TIDE_FRAME_LOST = 16,    // not a frame: root for events whose stack found no room
  TIDE_FRAME_STORED = 31,  // all of the above, which are in stores and files; the page has besides
  TIDE_FRAME_INLINED = 32, // into the next outer frame
  TIDE_FRAME_PRUNED = 64,  // not a frame: stands for the callers of stacks that were gathered
};

static inline enum tide_site_kind tide_kind_of_root(uint32_t flags)
{
  return flags & TIDE_FRAME_PAGES  ? TIDE_SITE_PAGES
         : flags & TIDE_FRAME_LOST ? TIDE_SITE_LOST
                                   : TIDE_SITE_HEAP;
}
