// SPDX-License-Identifier: Apache-2.0
//
// What an event finds on the stack, on aarch64.
#pragma once
#include <stdint.h>

// As enter.c leaves it on the stack.
struct tide_agent_frame {
  uint64_t x[16]; // x0 to x15
  uint64_t x18, hook, fp, pc;
};
#define TIDE_FRAME_ARGUMENT(frame, n) ((frame)->x[n])
#define TIDE_FRAME_REGS(frame)                                                                     \
  ((struct tide_regs){(frame)->pc, (uint64_t)((frame) + 1), (frame)->fp})
