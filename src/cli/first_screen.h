// SPDX-License-Identifier: Apache-2.0
//
// What a recording ends with: who held the memory, on one screen.
#pragma once
#include "cli/arguments.h"
#include "supervise/run.h"
#include "view/rules.h"

// Adds what is known now and is gone soon.
void tide_first_screen_complete(struct tide_capture *capture);
// On standard error.
void tide_first_screen(const struct tide_arguments *arguments, const struct tide_run_result *result,
                       const struct tide_rules *rules);
