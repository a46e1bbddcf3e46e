// SPDX-License-Identifier: Apache-2.0
//
// What the report's text is made of, from its table down. Private to it.
#pragma once
#include "report/report.h"
#include "view/groups.h"

// The ranked table of groups: as many rows as the options allow and, where there is more, one for
// the rest.
void tide_report_table_write(const struct tide_screen *screen, struct tide_view *view,
                             struct tide_groups *groups, const struct tide_report_options *options);

// Up to options->n_stacks stacks of a group, the weightiest first, innermost frame first, and a
// line for the others. Nothing for groups that share their stacks with others.
void tide_stacks_write(const struct tide_screen *screen, struct tide_view *view,
                       const struct tide_groups *groups, size_t group_idx,
                       const struct tide_report_options *options);

// What there is to say of one row beside its rank: sizes, lifetimes, resizes, who freed, and what
// became of its blocks. A few lines below the row of a group whose fate was told. Only what there
// is something to say of.
void tide_details_write(const struct tide_screen *screen, const struct tide_view *view,
                        const struct tide_groups *groups, size_t group_idx);

// Below a table of leaks: how much of it grows and how much is held, and what was suppressed.
// Writes nothing for other questions. The fates of the groups must have been told.
void tide_report_leaks_write(const struct tide_screen *screen, const struct tide_view *view,
                             const struct tide_groups *groups,
                             const struct tide_report_options *options);
