// SPDX-License-Identifier: Apache-2.0
//
// The calling thread: its seat, and how its end is told.
#pragma once
#include "record/thread.h"

// Initial-exec: no call, no allocation.
extern __thread struct tide_seat tide_self __attribute__((tls_model("initial-exec")));

void tide_self_init(void);
// As tide_host has them.
void tide_self_began(struct tide_thread *t, uint32_t tid);
uint32_t tide_self_id(void);
