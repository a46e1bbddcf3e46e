// SPDX-License-Identifier: Apache-2.0
//
// Forty children alive at the same time: forty-one images, all exact.
//
// truth: capture: images=41
// truth: site ^grab: allocations=10
// truth@fork: site ^grab: allocations=30, bytes=30*64, frees=0
#include "site.h"
#include <sys/wait.h>

SITE static void grab(void)
{
  MUST(malloc(64));
}

int main(void)
{
  int status, n_good = 0;
  for (int i = 0; i < 10; i++)
    grab();
  for (int i = 0; i < 40; i++)
    if (fork() == 0) {
      for (int k = 0; k < 30; k++)
        grab();
      usleep(20000);
      _exit(0);
    }
  while (wait(&status) > 0)
    n_good += status == 0;
  MUST(n_good == 40);
  return 0;
}
