// SPDX-License-Identifier: Apache-2.0
//
// A capture as a whole: its roll, and what its reader need not know. Making and freeing one is in
// model.h, with the structs.
#pragma once
#include "model/model.h"

// ---- the roll ----
//
// The roll of a run: which programs ran unrecorded, gathered by program and reason, so that a build
// of ten thousand processes has a short one.

#define TIDE_ROLL_MAX_ROWS 256u // further programs share one row without a name

// Adds one process (n_processes may be more) to the row of its program and reason, or makes that.
// What the row points to stays the caller's.
void tide_roll_add(struct tide_roll *roll, const struct tide_unrecorded *row);
// Adds all of another roll. What is not known of one is not known of both.
void tide_roll_join(struct tide_roll *roll, const struct tide_roll *other);
void tide_roll_copy(struct tide_roll *roll, const struct tide_roll *from);
void tide_roll_done(struct tide_roll *roll);

// Largest first: the command, then by RSS, number and name.
void tide_roll_sort(struct tide_roll *roll);

// Processes on the roll, in all.
uint64_t tide_roll_processes(const struct tide_roll *roll);

// ---- what a reader need not know ----
//
// Taking out of a capture what its reader need not know. Command lines hold what people type:
// passwords, tokens, names of customers.

// Of a command line, the program and how many arguments it had: "[3 arguments left out]" stands in
// their place. Paths of programs, libraries and sources stay, as does the host's name. Gives
// whether there were any; doing it again changes nothing.
bool tide_image_redact_args(struct tide_image *image);
bool tide_capture_redact_args(struct tide_capture *capture);
