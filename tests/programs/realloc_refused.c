// SPDX-License-Identifier: Apache-2.0
//
// A realloc that the allocator refuses leaves the old block as it was: live, at its own stack.
//
// truth: total: allocations=20, frees=10, live_blocks=10, live_bytes=1000, peak_bytes=2000
// truth: site ^hold: allocations=20, frees=10, live_blocks=10
// truth: site ask_too_much: stacks=0
// truth: complete: failed_allocations=20
#include "site.h"
#include <errno.h>

SITE static void *hold(void)
{
  return malloc(100);
}

SITE static void ask_too_much(void *block)
{
  volatile size_t huge = ~0ul / 2 - 1;
  errno = 0;
  MUST(realloc(block, huge) == NULL && errno == ENOMEM);
}

int main(void)
{
  void *block[20];
  for (int i = 0; i < 20; i++)
    block[i] = hold();
  for (int i = 0; i < 20; i++)
    ask_too_much(block[i]);
  for (int i = 0; i < 10; i++)
    free(block[i]);
  return 0;
}
