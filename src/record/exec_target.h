// SPDX-License-Identifier: Apache-2.0
//
// Can the next image load us? Most that cannot simply run without (static ones, other word sizes).
// Two kinds would not run at all: a program of musl's loader, which takes a library it cannot
// relocate for fatal, and one of a shared AddressSanitizer, which insists on coming first.
#pragma once
#include "rt/base.h"

// file as execve takes it; with search as execvp does. What cannot be read is taken to fit.
bool tide_exec_target_fits(const char *file, bool search);

enum tide_unfit {
  TIDE_UNFIT_LOADER, // it would not run with us
  TIDE_UNFIT_LONG,   // its arguments and variables leave no room for ours
};

// Tells the user that the program is run without us.
void tide_exec_target_say(const char *file, enum tide_unfit why);
