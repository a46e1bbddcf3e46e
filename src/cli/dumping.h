// SPDX-License-Identifier: Apache-2.0
//
// --dump-every, --dump-on and --dump-keep, of run and attach.
#pragma once
#include "cli/arguments.h"
#include "supervise/dumps.h"

// What the options ask for; no rules where nothing is asked. Says by which signal, and where to
// send it.
enum tide_err tide_dumping_asked(const struct tide_arguments *arguments,
                                 struct tide_dump_options *ret_options, struct tide_diag *diag);
