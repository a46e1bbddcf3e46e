// SPDX-License-Identifier: Apache-2.0
//
// Blocks that a program's own pools hand out (pool.c): what becomes of them when it tells.
#pragma once
#include "record/record.h"

// A block, told at a stack. 0, or -ENODATA: nothing is recorded now; -EEXIST: it lies in a block
// that is counted already; -ENOMEM: there is no room for it, which is counted.
long tide_pool_alloc(struct tide_seat *seat, uint64_t addr, uint64_t size, struct tide_regs r);
// False: it is not known. Of samples: it may be none.
bool tide_pool_free(struct tide_seat *seat, uint64_t addr);
// All that begin in [from, to); how many.
uint64_t tide_pool_free_all(struct tide_seat *seat, uint64_t from, uint64_t to);

void tide_pool_after_fork(void);
