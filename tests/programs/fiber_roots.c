// SPDX-License-Identifier: Apache-2.0
//
// Fibers as libraries make them by hand: the first function returns to nowhere, or to code without
// unwind information that ends the program. Where that is surely the fiber's root, the stack is
// whole; where something may lie above, it ends early.
//
// truth: site ^grab: allocations=5*20, stacks=5
// truth: site ^grab from to_zero: allocations=20, frames(main)=0
// truth: site ^grab from to_finish: allocations=20, frames(main)=0
// truth: site ^grab from to_edge: allocations=20, frames(main)=0
// truth: site ^grab from to_middle: allocations=20
// truth: site ^grab from below_caller: allocations=20
// truth: complete: broken_stacks=2
#include "site.h"
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK_BYTES = 65536, PAGE = 4096 };
static ucontext_t main_context, fiber;

// As in boost.context: never run unless a fiber's function returns.
extern const char finish[];
__asm__(".text\n nop\n.globl finish\nfinish: nop\n");

SITE static void grab(void)
{
  MUST(malloc(16));
}

#define BODY(name)                                                                                 \
  SITE static void name(void)                                                                      \
  {                                                                                                \
    for (volatile int i = 0; i < 20; i++)                                                          \
      grab();                                                                                      \
    swapcontext(&fiber, &main_context);                                                            \
  }
BODY(to_zero)
BODY(to_finish)
BODY(to_edge)
BODY(to_middle)
BODY(below_caller)

// Above is what lies between the root's frame and the end of the stack.
static void run(void (*body)(void), uint64_t *end, uint64_t above, const void *ra, const void *fp)
{
  getcontext(&fiber);
  *--end = above;
  *--end = above;
#if defined __x86_64__
  *--end = (uint64_t)ra;
  fiber.uc_mcontext.gregs[REG_RIP] = (greg_t)body;
  fiber.uc_mcontext.gregs[REG_RSP] = (greg_t)end;
  fiber.uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
#else
  fiber.uc_mcontext.pc = (uint64_t)body;
  fiber.uc_mcontext.sp = (uint64_t)end;
  fiber.uc_mcontext.regs[29] = (uint64_t)fp;
  fiber.uc_mcontext.regs[30] = (uint64_t)ra;
#endif
  swapcontext(&main_context, &fiber);
}

// The address behind its call.
SITE static uint64_t here(void)
{
  return (uint64_t)__builtin_extract_return_addr(__builtin_return_address(0));
}

int main(void)
{
  // Stack, a page that cannot be read, and a stack with something behind it.
  char *map = mmap(NULL, 2 * STACK_BYTES + 2 * PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(map != MAP_FAILED && !mprotect(map + STACK_BYTES, PAGE, PROT_NONE));
  uint64_t *edge = (uint64_t *)(map + STACK_BYTES);
  uint64_t *middle = (uint64_t *)(map + 2 * STACK_BYTES + PAGE);
  const void *garbage = (const void *)1;
  run(to_zero, middle, 0, NULL, garbage);
  run(to_finish, middle, 0, finish, finish);
  run(to_edge, edge, 0, finish, garbage);
  run(to_middle, middle, 0, finish, garbage);
  run(below_caller, edge, here(), finish, garbage);
  return 0;
}
