// SPDX-License-Identifier: Apache-2.0
//
// The ranked table of places inside the report.
#pragma once
#include "format/places.h"
#include "format/screen.h"

// The first n_places rows and, where there are more, one for the rest.
void tide_report_table_write(const struct tide_screen *screen, const struct tide_profile *profile,
                             const struct tide_naming *naming, const struct tide_places *places,
                             enum tide_rank rank, size_t n_places);
