// SPDX-License-Identifier: Apache-2.0
//
// Killed in the middle of a loop of temporaries, with one of them there: events that the recorder
// had not brought to their place yet count like all others, each size in its class.
//
// status: signal 9
// truth: total: allocations=1+1000+1, frees=1000, live_blocks=2, live_bytes=5040
// truth: total: peak_bytes=5079
// truth: site ^hold: allocations=1, bytes=5000, live_bytes=5000, peak_bytes=5000
// truth: site ^loop: allocations=1001, bytes=47060, frees=1000
// truth: site ^loop: live_bytes=40, temporary=1000, peak_bytes=79
#include "site.h"
#include <signal.h>

static void *kept;

SITE static void hold(void)
{
  kept = malloc(5000);
}

// 16 to 79 bytes, in turn; the last one stays.
SITE static void loop(void)
{
  for (int i = 0; i <= 1000; i++) {
    void *p = malloc(i == 1000 ? 40 : 16 + (i & 63));
    __asm__ volatile("" : "+r"(p) : : "memory"); // not to be left out
    if (i == 1000)
      kill(getpid(), SIGKILL);
    free(p);
  }
}

int main(void)
{
  hold();
  loop();
  return 0;
}
