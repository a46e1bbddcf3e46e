// SPDX-License-Identifier: Apache-2.0
//
// How much an image holds at most, whoever makes it.
#pragma once

#define TIDE_MAX_MODULES 65536u  // what a frame's 16 bits can name
#define TIDE_MAX_SNAPSHOTS 4096u // in a file; of one that is made here:
#define TIDE_SAMPLE_MAX_TICKS 1024
#define TIDE_SAMPLE_MAX_SNAPSHOTS 198 // two more are made at the end: peak and end
