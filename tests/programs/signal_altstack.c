// SPDX-License-Identifier: Apache-2.0
//
// The same on an alternate signal stack, at an address below the thread's own stack.
//
// truth: site ^in_handler: allocations=100, bytes=100*70, stacks=1
// truth: site ^in_handler from handler from raiser from main: allocations=100
// truth: site ^outside: allocations=100, stacks=1
#include "site.h"
#include <signal.h>
#include <sys/mman.h>

enum { STACK_BYTES = 65536 };

SITE static void in_handler(void)
{
  MUST(malloc(70));
}

SITE static void outside(void)
{
  MUST(malloc(7));
}

static void handler(int number)
{
  if (number == SIGUSR1)
    in_handler();
}

SITE static void raiser(void)
{
  raise(SIGUSR1);
}

int main(void)
{
  void *room = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack = {.ss_sp = room, .ss_size = STACK_BYTES};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  MUST(room != MAP_FAILED && sigaltstack(&stack, NULL) == 0);
  MUST(sigaction(SIGUSR1, &action, NULL) == 0);
  for (int i = 0; i < 100; i++) {
    raiser();
    outside();
  }
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, NULL);
  munmap(room, STACK_BYTES);
  for (int i = 0; i < 10; i++)
    free(malloc(1));
  return 0;
}
