// SPDX-License-Identifier: Apache-2.0
//
// The real program behind shim.sh.
//
// truth: site ^grab: allocations=5000, bytes=5000*1000, live_blocks=5000
#include "site.h"

SITE static void grab(void)
{
  MUST(malloc(1000));
}

int main(void)
{
  for (int i = 0; i < 5000; i++)
    grab();
  return 0;
}
