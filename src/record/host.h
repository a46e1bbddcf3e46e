// SPDX-License-Identifier: Apache-2.0
//
// What the recorder asks of the way it is reached by.
#pragma once
#include "rt/base.h"

struct tide_thread;

// The calling thread has had its first event.
void tide_thread_began(struct tide_thread *t, uint32_t tid);

// Is the calling thread resolving right now? Then nothing that happens is the program's.
bool tide_real_resolving(void);

// Is this one of the few blocks handed out while resolving? They are never freed.
bool tide_real_pool_holds(const void *p);
