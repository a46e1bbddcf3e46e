// SPDX-License-Identifier: Apache-2.0
//
// Whether this process image is recorded. The state only moves NEW -> BUSY -> ON -> OFF, or
// NEW -> BUSY -> OFF; in a fork child, which boots again, ON -> BUSY as well.
#pragma once
#include "rt/base.h"
#include "store/layout.h"

enum { TIDE_BOOT_NEW, TIDE_BOOT_BUSY, TIDE_BOOT_ON, TIDE_BOOT_OFF };

// One per process. boot.c moves it, and tide_boot_off().
struct tide_boot_state {
  int now; // atomic
  struct tide_boot_gate {
    uint32_t alive; // 0 in a fork child: the kernel has wiped it
  } * gate;         // NULL before the first boot
};
extern struct tide_boot_state tide_boot_state;

bool tide_boot_ready(void);  // recording, and not a fork child that has not switched yet
bool tide_boot_is_off(void); // stepped aside for good

// Is recording off for now? Of one that is ready (tide_boot_ready()).
bool tide_boot_is_paused(void);
// What it last was: for a fork child, which has not its parent's store.
extern bool tide_boot_was_paused;

// The one-way latch: from now on every hook passes through. Says one line on stderr.
void tide_boot_off(enum tide_off_reason reason);

void tide_boot_say(const char *what, const char *detail); // one line on stderr
