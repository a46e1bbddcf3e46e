// SPDX-License-Identifier: Apache-2.0
//
// Where a verb that writes puts its data: standard output or a new file, and never half of one.
#pragma once
#include "base/sink.h"

struct tide_output {
  struct tide_sink sink;
  const char *path; // not owned; NULL: standard output
  char *scratch;    // owned: the file that takes the place of another one at the end; NULL: none
};

// path NULL or "-": standard output. An existing file is not touched unless forced, and then only
// once there is a whole one to take its place.
enum tide_err tide_output_open(const char *path, bool force, struct tide_output *ret_output,
                               struct tide_diag *diag);

// Writes out the rest and closes; what went wrong before is passed in, and given back if nothing
// worse happens. A file that is not whole is removed, unless it is a device or a pipe.
enum tide_err tide_output_close(struct tide_output *output, enum tide_err err,
                                struct tide_diag *diag);

// Refuses to write over what is being read, forced or not. path as above.
enum tide_err tide_output_check_apart(const char *path, const char *input, struct tide_diag *diag);
