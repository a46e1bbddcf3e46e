// SPDX-License-Identifier: Apache-2.0
//
// Completion for shells, made from the option table. Written at build time by completion_gen.c;
// nothing of it is in the command.
#pragma once
#include "base/sink.h"

void tide_completion_bash(struct tide_sink *sink);
void tide_completion_zsh(struct tide_sink *sink);
void tide_completion_fish(struct tide_sink *sink);

// The table itself, one verb or option a line, for tests of what was made from it.
void tide_completion_table(struct tide_sink *sink);
