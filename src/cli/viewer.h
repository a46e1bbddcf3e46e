// SPDX-License-Identifier: Apache-2.0
//
// The page of a run that goes on: `tidemark view --detach` on the capture being written, as a
// process of its own. It is in a session of its own, so that the terminal's signals do not reach
// it, holds none of our descriptors once it serves, and the command never meets it.
#pragma once
#include "cli/arguments.h"

#include <sys/types.h>

struct tide_viewer {
  const struct tide_arguments *arguments;
  pid_t pid;  // 0: not started; < 0: could not be
  int url_fd; // where it writes the page's address
};

// Starts it, if it was not started before. May be called from any one thread at a time.
void tide_viewer_start(struct tide_viewer *viewer, const char *path);

// Waits until it serves or has failed, which it says itself. The page's address, owned; NULL when
// it was not started or does not serve.
char *tide_viewer_finish(struct tide_viewer *viewer);
