// SPDX-License-Identifier: Apache-2.0
//
// Coroutines whose stacks are mapped, used and unmapped again, over and over: what the recorder
// remembers of such a stack must never be read after it is gone.
//
// truth: site ^grab: allocations=200*20, frees=4000, stacks=1, live_blocks=0
// truth: site ^outside: allocations=200, stacks=1
#include "site.h"
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK_BYTES = 65536 };
static ucontext_t main_context, context;

SITE static void *grab(void)
{
  return malloc(16);
}

SITE static void outside(void)
{
  MUST(malloc(4));
}

SITE static void body(void)
{
  for (int i = 0; i < 20; i++)
    free(grab());
}

int main(void)
{
  for (int i = 0; i < 200; i++) {
    char *stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(stack != MAP_FAILED);
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = &main_context;
    makecontext(&context, body, 0);
    swapcontext(&main_context, &context);
    munmap(stack, STACK_BYTES);
    outside();
  }
  return 0;
}
