// SPDX-License-Identifier: Apache-2.0
//
// The table of a diff on a screen.
#pragma once
#include "report/diff.h"

// With its heading; or one line when nothing changed.
void tide_diff_table_write(const struct tide_screen *screen, const struct tide_diff *diff,
                           const struct tide_diff_options *options);

// The ink of a change.
enum tide_ink tide_diff_ink(int64_t change);
