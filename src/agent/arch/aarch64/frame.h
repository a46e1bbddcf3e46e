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
// For a function's mark (store/agent_face.h): what it calls is below this, and its caller is not.
// The frame's own address would not do: here that is its lower end.
#define TIDE_AGENT_SP_HERE() ((uint64_t)__builtin_dwarf_cfa())
#define TIDE_FRAME_REGS(frame)                                                                     \
  ((struct tide_regs){(frame)->pc, (uint64_t)((frame) + 1), (frame)->fp})

// Of a function to which islands jump by its address: all have one.
#define TIDE_AGENT_PAD
