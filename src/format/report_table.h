// SPDX-License-Identifier: Apache-2.0
//
// The ranked table of places inside the report.
#pragma once
#include "format/report.h"

void tide_report_table_write(const struct tide_screen *screen, const struct tide_profile *profile,
                             struct tide_naming *naming, enum tide_rank rank, size_t n_places);
