// SPDX-License-Identifier: Apache-2.0
//
// Page-level memory: what the program itself maps with mmap and brk, by stack, apart from the heap.
#pragma once
#include "record/thread.h"

// [start, start + bytes) was mapped at the given stack; whatever was there before is gone.
void tide_pages_mapped(struct tide_seat *seat, uint64_t start, uint64_t bytes, struct tide_regs r);
// The range is gone. It may hold several mappings, parts of some, or none that we know.
void tide_pages_unmapped(struct tide_seat *seat, uint64_t start, uint64_t bytes);
void tide_pages_after_fork(void);
