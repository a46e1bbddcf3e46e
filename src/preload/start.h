// SPDX-License-Identifier: Apache-2.0
//
// What the library was started with.
#pragma once

// The supervisor's door, "" when there is none or other processes are left alone.
const char *tide_start_door(void);
