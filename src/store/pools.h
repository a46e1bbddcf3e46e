// SPDX-License-Identifier: Apache-2.0
//
// Blocks that a program's own pools hand out, as it tells of them (tidemark.h): those that are
// live, by address. They are not in the live map, whose tables count on what an allocator of the
// whole process keeps to: blocks 8 bytes and more apart, none within another. A pool may hand out
// blocks of one byte.
//
// Beside each block's entry it is counted how many lie in each 16 KiB, so that all blocks of a
// range are found by their addresses, in turn, and memory without any is passed at once.
//
// Private to the process; all of it under the lock, by a thread that has entered (record/thread.h).
#pragma once
#include "rt/base.h"

struct tide_pool_block {
  uint64_t addr; // 0: none
  uint64_t size;
  uint64_t when; // as in the live map, without a key
  uint32_t cell;
  uint32_t pad;
};

enum { TIDE_POOL_REGION_BITS = 14 };

void tide_pools_after_fork(void); // there is none

void tide_pools_lock(void);
void tide_pools_unlock(void);

// False: no memory. There is none at this address.
bool tide_pools_put(const struct tide_pool_block *block);
// False: there is none.
bool tide_pools_take(uint64_t addr, struct tide_pool_block *ret);
// Takes the first that begins in [from, to).
bool tide_pools_take_in(uint64_t from, uint64_t to, struct tide_pool_block *ret);
// Are there blocks in the 16 KiB of this address?
bool tide_pools_are_near(uint64_t addr);
// Were there some, most of the times that this is asked? At the 1st, 2nd, 4th ... it says no: then
// it is to be looked closely.
bool tide_pools_were_near(uint64_t addr);
