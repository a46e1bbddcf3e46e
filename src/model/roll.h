// SPDX-License-Identifier: Apache-2.0
//
// The roll of a run: which programs ran unrecorded, gathered by program and reason, so that a build
// of ten thousand processes has a short one.
#pragma once
#include "model/model.h"

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
