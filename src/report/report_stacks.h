// SPDX-License-Identifier: Apache-2.0
//
// The stacks behind the rows of a report, drawn below them.
#pragma once
#include "view/groups.h"
#include "report/report.h"

// Up to options->n_stacks stacks of a group, the weightiest first, innermost frame first, and a
// line for the others. Nothing for groups that share their stacks with others.
void tide_stacks_write(const struct tide_screen *screen, struct tide_view *view,
                       const struct tide_groups *groups, size_t group_idx,
                       const struct tide_report_options *options);
