// SPDX-License-Identifier: Apache-2.0
//
// getpid(), whose result nobody looks at.
#include "attach/pause_code.h"

const uint8_t tide_pause_code[] = {0xb8, 0x27, 0, 0, 0, // mov $39, %eax
                                   0x0f, 0x05,          // syscall
                                   0xc3};               // ret
const size_t tide_pause_bytes = sizeof tide_pause_code;
