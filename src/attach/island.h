// SPDX-License-Identifier: Apache-2.0
//
// The island of a hooked function, as it lies in the process:
//
//     0  what undoes the pad, then the way into the agent
//    80  a landing pad: the agent calls this
//    84  the displaced instructions, and the way back
//   200  how to undo it: enough for another tracer, if the one that patched was killed
#pragma once
#include "attach/displace.h"

enum {
  TIDE_ISLAND_REAL_AT = 80,
  TIDE_ISLAND_CODE_AT = 84,
  TIDE_ISLAND_NOTE_AT = 200,
  TIDE_ISLAND_BYTES = 256,
};
#define TIDE_ISLAND_MAGIC UINT64_C(0x31306b72616d6574) // "temark01"

struct tide_island_note {
  uint64_t magic;
  uint64_t at;   // of the patch
  uint64_t hole; // 0: none
  uint8_t n, old[16], hole_old[8];
};

// What it is made of.
struct tide_island {
  const struct tide_displaced *displaced;
  struct tide_way way;
  struct tide_island_note note; // its magic is written here
};

void tide_island_write(const struct tide_island *island, uint8_t bytes[TIDE_ISLAND_BYTES]);
