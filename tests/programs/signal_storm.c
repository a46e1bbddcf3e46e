// SPDX-License-Identifier: Apache-2.0
//
// A timer interrupts the program every 200 µs, most often inside malloc or free or the recorder's
// own code; the handler only counts. Every allocation is still counted once.
//
// truth: site ^busy: allocations=300000, frees=300000, bytes=300000*32, live_blocks=0, stacks=1
// truth: total: allocations=300000
#include "site.h"
#include <signal.h>
#include <sys/time.h>

static volatile int n_ticks;

static void tick(int number)
{
  n_ticks += number > 0;
}

SITE static void busy(void)
{
  free(malloc(32));
}

int main(void)
{
  struct itimerval every = {{0, 200}, {0, 200}};
  struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &every, NULL);
  for (int i = 0; i < 300000; i++)
    busy();
  return 0;
}
