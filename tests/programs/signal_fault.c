// SPDX-License-Identifier: Apache-2.0
//
// A handler for SIGSEGV on its own stack, entered from a faulting load; it allocates, then leaves
// by siglongjmp. The interrupted frame is exact: the faulting instruction itself.
//
// truth: site ^in_handler: allocations=50, bytes=50*11, stacks=1
// truth: site ^in_handler from handler from fault from main: allocations=50
// truth: site ^afterwards: allocations=50, stacks=1
#include "site.h"
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;

SITE static void in_handler(void)
{
  MUST(malloc(11));
}

SITE static void afterwards(void)
{
  MUST(malloc(22));
}

static void handler(int number)
{
  (void)number;
  in_handler();
  siglongjmp(back, 1);
}

SITE static void fault(void)
{
  *(volatile int *)16 = 1;
}

int main(void)
{
  static char room[65536];
  stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  MUST(sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
  for (volatile int i = 0; i < 50; i++) {
    if (sigsetjmp(back, 1) == 0)
      fault();
    afterwards();
  }
  return 0;
}
