// SPDX-License-Identifier: Apache-2.0
//
// What there is to say of one row beside its rank: sizes, lifetimes, resizes, who freed, and what
// became of its blocks.
#pragma once
#include "report/report.h"

// A few lines below the row of a group whose fate was told. Only what there is something to say of.
void tide_details_write(const struct tide_screen *screen, const struct tide_view *view,
                        const struct tide_groups *groups, size_t group_idx);
