// SPDX-License-Identifier: Apache-2.0
//
// Starting, restarting and stopping the recorder in one process image. Boot happens at the first
// hook call, not in a constructor (a program may allocate hundreds of times before ours would
// run), and again in a fork child, at its first event.
#pragma once
#include "rt/base.h"
#include "store/layout.h"

struct tide_seat;

bool tide_boot(struct tide_seat *seat); // true: recording
bool tide_boot_ready(void);             // recording, and not a fork child that has not switched yet
bool tide_boot_is_off(void);            // stepped aside for good

// The one-way latch: from now on every hook passes through. Says one line on stderr.
void tide_boot_off(enum tide_off_reason reason);

// The supervisor's door, "" when there is none or other processes are left alone.
const char *tide_boot_door(void);
// Is this a fork child that has not been recorded yet and whose parent has ended?
bool tide_boot_is_orphan(void);
