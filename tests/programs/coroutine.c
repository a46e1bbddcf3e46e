// SPDX-License-Identifier: Apache-2.0
//
// Two coroutines on stacks of their own, taking turns with main: three kinds of stacks, none
// mixed up with another.
//
// truth: site ^grab: allocations=300, stacks=3
// truth: site ^grab from body_a: allocations=100, stacks=1, frames(main)=0
// truth: site ^grab from body_b: allocations=100, stacks=1, frames(main)=0
// truth: site ^grab from main: allocations=100, stacks=1
#include "site.h"
#include <ucontext.h>

static ucontext_t main_context, a_context, b_context;
static char a_stack[65536], b_stack[65536];

SITE static void grab(void)
{
  MUST(malloc(16));
}

SITE static void body_a(void)
{
  for (;;) {
    grab();
    swapcontext(&a_context, &b_context);
  }
}

SITE static void body_b(void)
{
  for (;;) {
    grab();
    swapcontext(&b_context, &main_context);
  }
}

static void prepare(ucontext_t *context, char *stack, size_t size, void (*body)(void))
{
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = size;
  makecontext(context, body, 0);
}

int main(void)
{
  prepare(&a_context, a_stack, sizeof a_stack, body_a);
  prepare(&b_context, b_stack, sizeof b_stack, body_b);
  for (int i = 0; i < 100; i++) {
    swapcontext(&main_context, &a_context);
    grab();
  }
  return 0;
}
