// SPDX-License-Identifier: Apache-2.0
//
// Below a table of leaks: how much of it grows and how much is held, and what was suppressed.
#pragma once
#include "report/report.h"

// Writes nothing for other questions. The fates of the groups must have been told.
void tide_report_leaks_write(const struct tide_screen *screen, const struct tide_view *view,
                             const struct tide_groups *groups,
                             const struct tide_report_options *options);
