// SPDX-License-Identifier: Apache-2.0
//
// Where a capture goes: its name, and the promise that nothing is overwritten unasked.
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <sys/types.h>

#define TIDE_OUTPUT_DEFAULT "tidemark.%n.%p.tide"

// %p becomes the pid, %n the program's name without directories, %% a percent sign; owned.
char *tide_output_name(const char *pattern, const char *program, pid_t pid);

// What files that belong to a capture are named after: its path without ".tide"; owned.
char *tide_output_base(const char *path);

struct tide_output_state {
  bool created;     // the file was made by tide_output_reserve(): see tide_output_release()
  bool replaceable; // a regular file, which may be written more than once
};

// Makes sure that the file can be written at the end: creates it, empty, unless it is there. If it
// is, TIDE_ERR_EXISTS without force; a device or a pipe is no file that could be lost, and is fine.
enum tide_err tide_output_reserve(const char *path, bool force, struct tide_output_state *ret_state,
                                  struct tide_diag *diag);
// Removes a file that was created by tide_output_reserve() and never written to.
void tide_output_release(const char *path);
