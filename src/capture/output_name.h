// SPDX-License-Identifier: Apache-2.0
//
// Where a capture goes: its name, and the promise that nothing is overwritten unasked.
#pragma once
#include "base/err.h"
#include <sys/types.h>

#define TIDE_OUTPUT_DEFAULT "tidemark.%n.%p.tide"

// %p becomes the pid, %n the program's name without directories, %% a percent sign; owned.
char *tide_output_name(const char *pattern, const char *program, pid_t pid);

// Makes sure that the file can be written at the end: creates it, empty, unless it is there; if it
// is, TIDE_ERR_EXISTS without force. *ret_created: it was made here, see below.
enum tide_err tide_output_reserve(const char *path, bool force, bool *ret_created,
                                  struct tide_diag *diag);
// Removes a file that was created by tide_output_reserve() and never written to.
void tide_output_release(const char *path);
