// SPDX-License-Identifier: Apache-2.0
//
// From an island to the event. The island has the hook in x17; x30 is the caller's return address.
// Every register is kept but x0, which holds the result, and x16 and x17, which are nobody's
// between functions. What the event is built from uses general registers only.
#include "agent/agent.h"

#include <stddef.h>

_Static_assert(offsetof(struct tide_agent_frame, x18) == 128 &&
                   offsetof(struct tide_agent_frame, fp) == 144 &&
                   sizeof(struct tide_agent_frame) == 160,
               "the order of the stores below");
#define SAVE                                                                                       \
  "  hint #36\n" /* bti j: islands branch here by an address */                                    \
  "  stp x29, x30, [sp, #-16]!\n"                                                                  \
  "  stp x18, x17, [sp, #-16]!\n"                                                                  \
  "  stp x14, x15, [sp, #-16]!\n"                                                                  \
  "  stp x12, x13, [sp, #-16]!\n"                                                                  \
  "  stp x10, x11, [sp, #-16]!\n"                                                                  \
  "  stp x8, x9, [sp, #-16]!\n"                                                                    \
  "  stp x6, x7, [sp, #-16]!\n"                                                                    \
  "  stp x4, x5, [sp, #-16]!\n"                                                                    \
  "  stp x2, x3, [sp, #-16]!\n"                                                                    \
  "  stp x0, x1, [sp, #-16]!\n"                                                                    \
  "  add x29, sp, #144\n"                                                                          \
  "  mov x0, sp\n"
#define RESTORE                                                                                    \
  "  ldr x1, [sp, #8]\n"                                                                           \
  "  ldp x2, x3, [sp, #16]\n"                                                                      \
  "  ldp x4, x5, [sp, #32]\n"                                                                      \
  "  ldp x6, x7, [sp, #48]\n"                                                                      \
  "  ldp x8, x9, [sp, #64]\n"                                                                      \
  "  ldp x10, x11, [sp, #80]\n"                                                                    \
  "  ldp x12, x13, [sp, #96]\n"                                                                    \
  "  ldp x14, x15, [sp, #112]\n"                                                                   \
  "  ldr x18, [sp, #128]\n"                                                                        \
  "  ldp x29, x30, [sp, #144]\n"
#define LEAVE                                                                                      \
  "  add sp, sp, #160\n"                                                                           \
  "  ret\n"

__asm__(".text\n"
        ".globl tide_agent_enter\n"
        ".protected tide_agent_enter\n"
        ".type tide_agent_enter, %function\n"
        "tide_agent_enter:\n" SAVE "  bl tide_agent_event\n" RESTORE LEAVE
        ".size tide_agent_enter, . - tide_agent_enter\n"
        ".globl tide_agent_enter_new\n"
        ".protected tide_agent_enter_new\n"
        ".type tide_agent_enter_new, %function\n"
        "tide_agent_enter_new:\n" SAVE "  bl tide_agent_event_new\n" RESTORE "  cbz x0, 1f\n" LEAVE
        "1:\n"
        "  ldr x0, [sp]\n"
        "  ldr x17, [sp, #136]\n" // the real function, where the hook was
        "  add sp, sp, #160\n"
        "  br x17\n"
        ".size tide_agent_enter_new, . - tide_agent_enter_new\n");

__asm__(".text\n"
        ".globl tide_agent_call_on\n"
        ".protected tide_agent_call_on\n"
        ".type tide_agent_call_on, %function\n"
        "tide_agent_call_on:\n"
        "  hint #34\n" // bti c
        "  stp x29, x30, [sp, #-16]!\n"
        "  mov x29, sp\n"
        "  mov sp, x0\n"
        "  mov x0, x2\n"
        "  blr x1\n"
        "  mov sp, x29\n"
        "  ldp x29, x30, [sp], #16\n"
        "  ret\n"
        ".size tide_agent_call_on, . - tide_agent_call_on\n");

bool tide_agent_has_thread_pointer(void)
{
  return __builtin_thread_pointer();
}
