// SPDX-License-Identifier: Apache-2.0
//
// getpid(), whose result nobody looks at.
#include "attach/pause_code.h"

const uint8_t tide_pause_code[] = {0x88, 0x15, 0x80, 0xd2,  // mov x8, #172
                                   0x01, 0x00, 0x00, 0xd4,  // svc #0
                                   0xc0, 0x03, 0x5f, 0xd6}; // ret
const size_t tide_pause_bytes = sizeof tide_pause_code;
