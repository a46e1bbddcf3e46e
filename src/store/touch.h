// SPDX-License-Identifier: Apache-2.0
//
// How much of a large block is in memory at its end: what it took of the capacity it was given. The
// kernel is asked (mincore) while the block is still there, by the thread that frees or resizes it.
//
// What it says is what is resident. A page that an earlier block has left behind counts as touched,
// and so does the rest of a huge page; one that is swapped out does not, so of a process that was
// swapped nothing should be concluded. Of a page that a block shares with its neighbours the
// block's own bytes count.
//
// A look takes a system call for each MiB, about a microsecond (measured: 0.75 for 64 KiB, 0.8 to
// 2.2 for 1 MiB, 55 for 64 MiB). All threads together spend a 32nd of one processor's time on it at
// the most, and 10 ms at once: blocks beyond that are not looked at, which is why those that were
// are counted. Where a filter is on the process, or the kernel refuses, it is not asked again.
#pragma once
#include "store/annex.h"

#define TIDE_TOUCH_UNKNOWN (~0ull)

// Bytes of the block that are in memory, or TIDE_TOUCH_UNKNOWN: it was not looked at.
uint64_t tide_touch_look(uint64_t addr, uint64_t size, uint64_t now);

// The block, of which so much was in memory, has left its cell. If that is not known, nothing.
void tide_touch_count(struct tide_writer *w, uint32_t cell, uint64_t size, uint64_t touched);
