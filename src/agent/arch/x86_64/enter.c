// SPDX-License-Identifier: Apache-2.0
//
// From an island to the event. The island has the hook in rax; on the stack is the caller's return
// address. Every register is kept but rax, which holds the result: inside the allocator's own
// object the compiler may know which ones the real function leaves alone and rely on it. What the
// event is built from uses general registers only.
#include "agent/agent.h"
#include "rt/sys.h"

#include <asm/prctl.h>
#include <stddef.h>

_Static_assert(offsetof(struct tide_agent_frame, hook) == 72 &&
                   offsetof(struct tide_agent_frame, pc) == 80,
               "the order of the pushes below");
#define SAVE                                                                                       \
  "  endbr64\n" /* islands jump here by an address */                                              \
  "  push %rax\n"                                                                                  \
  "  push %rbp\n"                                                                                  \
  "  push %rcx\n"                                                                                  \
  "  push %rdx\n"                                                                                  \
  "  push %rsi\n"                                                                                  \
  "  push %rdi\n"                                                                                  \
  "  push %r8\n"                                                                                   \
  "  push %r9\n"                                                                                   \
  "  push %r10\n"                                                                                  \
  "  push %r11\n"                                                                                  \
  "  mov %rsp, %rdi\n"                                                                             \
  "  mov %rsp, %rbp\n"                                                                             \
  "  and $-16, %rsp\n"
#define RESTORE                                                                                    \
  "  mov %rbp, %rsp\n"                                                                             \
  "  pop %r11\n"                                                                                   \
  "  pop %r10\n"                                                                                   \
  "  pop %r9\n"                                                                                    \
  "  pop %r8\n"                                                                                    \
  "  pop %rdi\n"                                                                                   \
  "  pop %rsi\n"                                                                                   \
  "  pop %rdx\n"                                                                                   \
  "  pop %rcx\n"                                                                                   \
  "  pop %rbp\n"
#define LEAVE                                                                                      \
  "  lea 8(%rsp), %rsp\n" /* past the hook */                                                      \
  "  ret\n"

__asm__(".text\n"
        ".globl tide_agent_enter\n"
        ".protected tide_agent_enter\n"
        ".type tide_agent_enter, @function\n"
        "tide_agent_enter:\n" SAVE "  call tide_agent_event\n" RESTORE LEAVE
        ".size tide_agent_enter, . - tide_agent_enter\n"
        ".globl tide_agent_enter_new\n"
        ".protected tide_agent_enter_new\n"
        ".type tide_agent_enter_new, @function\n"
        "tide_agent_enter_new:\n" SAVE "  call tide_agent_event_new\n" RESTORE "  test %rax, %rax\n"
        "  jz 1f\n" LEAVE "1:\n"
        "  pop %rax\n" // the real function, where the hook was
        "  jmp *%rax\n"
        ".size tide_agent_enter_new, . - tide_agent_enter_new\n");

__asm__(".text\n"
        ".globl tide_agent_call_on\n"
        ".protected tide_agent_call_on\n"
        ".type tide_agent_call_on, @function\n"
        "tide_agent_call_on:\n"
        "  endbr64\n"
        "  push %rbp\n"
        "  mov %rsp, %rbp\n"
        "  mov %rdi, %rsp\n"
        "  mov %rdx, %rdi\n"
        "  call *%rsi\n"
        "  mov %rbp, %rsp\n"
        "  pop %rbp\n"
        "  ret\n"
        ".size tide_agent_call_on, . - tide_agent_call_on\n");

// Reading it as a program does would fault where there is none.
bool tide_agent_has_thread_pointer(void)
{
  uint64_t base = 0;
  return TIDE_SYS(SYS_arch_prctl, ARCH_GET_FS, &base) || base;
}
