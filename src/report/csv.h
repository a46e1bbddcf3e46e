// SPDX-License-Identifier: Apache-2.0
//
// Cells of CSV. Names come from binaries we did not build: control characters and broken bytes
// become '?', quotes are doubled, and what a spreadsheet would compute is made text.
#pragma once
#include "base/sink.h"

void tide_csv_text(struct tide_sink *sink, const char *text);
