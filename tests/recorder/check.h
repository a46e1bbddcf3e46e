// SPDX-License-Identifier: Apache-2.0
//
// What check.c adds to the recorder. The test programs are started with that library preloaded and
// refer to these weakly.
#pragma once
#include <stdint.h>

// Captures the caller's stack by the fast path and by a full walk: the depth when both give the
// same stack and it is whole, -1 when not, -2 when the recorder is not there.
int tidemark_check_id(void) __attribute__((weak));

// The return addresses of a full walk from the caller, innermost first; returns how many there are.
int tidemark_check_frames(uint64_t *out, int max) __attribute__((weak));

// How often a stack that the caches do not know was asked about since it was last called.
long tidemark_check_asks(void) __attribute__((weak));
