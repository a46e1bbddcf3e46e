// SPDX-License-Identifier: Apache-2.0
//
// A function that makes a system call that does nothing, and returns: one part per architecture,
// under arch/.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { TIDE_PAUSE_MAX_BYTES = 16 };
extern const uint8_t tide_pause_code[];
extern const size_t tide_pause_bytes;
