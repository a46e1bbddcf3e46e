// SPDX-License-Identifier: Apache-2.0
//
// What an event finds on the stack, on x86_64.
#pragma once
#include <stdint.h>

// As enter.c leaves it on the stack.
struct tide_agent_frame {
  uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx, fp, hook, pc;
};
#define TIDE_FRAME_ARGUMENT(frame, n)                                                              \
  ((n) == 0   ? (frame)->rdi                                                                       \
   : (n) == 1 ? (frame)->rsi                                                                       \
   : (n) == 2 ? (frame)->rdx                                                                       \
   : (n) == 3 ? (frame)->rcx                                                                       \
   : (n) == 4 ? (frame)->r8                                                                        \
              : (frame)->r9)
// For a function's mark (store/agent_face.h): what it calls is below this, and its caller is not.
// The frame's own address costs an instruction less than the caller's stack pointer.
#define TIDE_AGENT_SP_HERE() ((uint64_t)__builtin_frame_address(0))
#define TIDE_FRAME_REGS(frame)                                                                     \
  ((struct tide_regs){(frame)->pc, (uint64_t)((frame) + 1), (frame)->fp})

// Of a function to which islands jump by its address.
#ifdef __clang__
#define TIDE_AGENT_PAD // all have one
#else
#define TIDE_AGENT_PAD __attribute__((cf_check))
#endif
