// SPDX-License-Identifier: Apache-2.0
//
// Does a program ask its recorder, by a <tidemark/tidemark.h> that has no door (docs/header.md)?
// One that is put into it cannot answer, so whoever attaches is told.
#pragma once
#include <stdbool.h>

// By the weak symbols that it has for it. False also for a file that cannot be read.
bool tide_program_asks_in_vain(const char *path);
