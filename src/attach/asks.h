// SPDX-License-Identifier: Apache-2.0
//
// Does a program ask its recorder, by <tidemark/tidemark.h>? One that is put into it does not
// answer (docs/header.md), so whoever attaches is told.
#pragma once
#include <stdbool.h>

// By the weak symbols that it has for it. False also for a file that cannot be read.
bool tide_program_asks(const char *path);
