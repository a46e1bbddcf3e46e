// SPDX-License-Identifier: Apache-2.0
//
// Starting, restarting and stopping the recorder in one process image. Boot happens at the first
// hook call, not in a constructor (a program may allocate hundreds of times before ours would
// run), and again in a fork child, at its first event.
#pragma once
#include "record/boot_state.h"

struct tide_seat;

bool tide_boot(struct tide_seat *seat); // true: recording

// For a way in that hears of a call of fork(): what the parent held is noted in the child's store.
// A child of the bare system call is none the worse.
void tide_boot_before_fork(struct tide_seat *seat);
void tide_boot_after_fork(struct tide_seat *seat); // in the parent
// In the child, only where the kernel cannot be trusted to wipe (tide_store.inherited): elsewhere a
// child that never allocates does nothing of ours, and touches no page.
void tide_boot_in_fork_child(struct tide_seat *seat);

// The process ends, as far as it tells: for whoever reads a store that no supervisor kept.
void tide_boot_note_end(void);

// Is this a fork child that has not been recorded yet and whose parent has ended?
bool tide_boot_is_orphan(void);
