// SPDX-License-Identifier: Apache-2.0
//
// The calling thread's own stack. Cached stack words are only read inside it.
#pragma once
#include "rt/base.h"

void tide_stack_bounds_init(uint64_t main_stack_top);
// Writes size 0 when the bounds cannot be told: captures are then full walks.
void tide_stack_bounds(uint32_t tid, uint64_t *ret_lo, uint64_t *ret_size);
