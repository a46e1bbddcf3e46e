// SPDX-License-Identifier: Apache-2.0
//
// Room for deeper stacks.
#pragma once
#include "unwind/capture.h"

// Doubles the arrays of u, keeping the last capture and the first n_steps steps. False: no memory;
// everything is as it was.
bool tide_unwind_grow(struct tide_unwind *u, uint64_t n_steps);
