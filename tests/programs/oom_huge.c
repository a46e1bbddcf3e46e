// SPDX-License-Identifier: Apache-2.0
//
// malloc that can only say no: NULL, ENOMEM, no allocation counted, and life goes on.
//
// truth: total: allocations=100, bytes=100*8, live_blocks=100
// truth: site ask: stacks=0
// truth: complete: failed_allocations=100
#include "site.h"
#include <errno.h>

SITE static void ask(void)
{
  volatile size_t size = 1ul << 60;
  errno = 0;
  MUST(malloc(size) == NULL && errno == ENOMEM);
}

int main(void)
{
  for (int i = 0; i < 100; i++) {
    ask();
    MUST(malloc(8));
  }
  return 0;
}
