// SPDX-License-Identifier: Apache-2.0
//
// Text for people that may be longer than their screen.
#pragma once
#include "base/sink.h"
#include "cli/arguments.h"

// A sink for text on standard output: straight through, or collected for the pager when standard
// output is a terminal and nothing speaks against one (--no-pager, an empty TIDEMARK_PAGER or
// PAGER, TERM=dumb).
void tide_pager_begin(struct tide_sink *sink, const struct tide_arguments *arguments);

// Ends what begin began: text longer than the terminal is shown by $TIDEMARK_PAGER, $PAGER or less,
// and by none when that cannot be started. name is as for tide_sink_finish(). The sink is done.
enum tide_err tide_pager_finish(struct tide_sink *sink, const char *name, struct tide_diag *diag);
