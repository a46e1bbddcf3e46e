// SPDX-License-Identifier: Apache-2.0
//
// A signal handler that allocates, entered by raise() from a known place: the stack goes through
// the signal frame to the code that was interrupted.
//
// truth: site ^in_handler: allocations=100, bytes=100*70, stacks=1
// truth: site ^in_handler from handler from raiser from main: allocations=100
// truth: site ^outside: allocations=100, stacks=1
#include "site.h"
#include <signal.h>

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
  signal(SIGUSR1, handler);
  for (int i = 0; i < 100; i++) {
    raiser();
    outside();
  }
  return 0;
}
