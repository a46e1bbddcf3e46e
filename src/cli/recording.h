// SPDX-License-Identifier: Apache-2.0
//
// How `run` and `check` record a command: the options that both take, and what it needs of ours.
#pragma once
#include "cli/arguments.h"
#include "supervise/run.h"

struct tide_recording { // zero before; all owned
  char *library;
  char *agent; // NULL: it is missing, and what needs it goes without
};

// Do the options go together?
enum tide_err tide_recording_check(const struct tide_arguments *arguments, struct tide_diag *diag);

// Finds the libraries. The agent may be missing, unless it is asked for.
enum tide_err tide_recording_init(const struct tide_arguments *arguments,
                                  struct tide_recording *ret_recording, struct tide_diag *diag);
void tide_recording_done(struct tide_recording *recording);

// The options as the supervisor takes them; they point into both. Who says what to whom, and who
// lives beside the recording, is the caller's to fill in.
struct tide_run_options tide_recording_options(const struct tide_arguments *arguments,
                                               const struct tide_recording *recording);
