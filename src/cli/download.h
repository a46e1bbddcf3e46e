// SPDX-License-Identifier: Apache-2.0
//
// Downloads as a person sees them: one line that comes after a moment and goes when it is done, on
// a terminal only. Ctrl-C gives up the downloads, not the report.
#pragma once
#include "symbol/symbol.h"

// For one thread. Lives as long as the program.
const struct tide_symbol_watch *tide_download_watch(void);
