// SPDX-License-Identifier: Apache-2.0
//
// The rows of a snapshot are a list sorted by stack, without rows of nothing but zeros.
#pragma once
#include "model/model.h"

// Adds what `counts` (by rising stack) says was allocated to the rows of a snapshot; what it says
// of live blocks is ignored. The snapshot owns its rows; `counts` stays the caller's.
void tide_snapshot_add_counts(struct tide_snapshot *snapshot,
                              const struct tide_snapshot_row *counts, size_t n_counts);
