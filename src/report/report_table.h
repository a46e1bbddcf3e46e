// SPDX-License-Identifier: Apache-2.0
//
// The ranked table of groups inside the report.
#pragma once
#include "view/groups.h"
#include "report/report.h"

// As many rows as the options allow and, where there is more, one for the rest.
void tide_report_table_write(const struct tide_screen *screen, struct tide_view *view,
                             struct tide_groups *groups, const struct tide_report_options *options);
