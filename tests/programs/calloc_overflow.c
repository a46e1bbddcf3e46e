// SPDX-License-Identifier: Apache-2.0
//
// calloc whose product overflows returns NULL with ENOMEM and is no allocation of a few bytes.
//
// truth: total: allocations=1, bytes=30
// truth: complete: failed_allocations=50
#include "site.h"
#include <errno.h>

SITE static void overflow(void)
{
  volatile size_t half = 1ul << 63;
  errno = 0;
  MUST(calloc(half, 2) == NULL && errno == ENOMEM);
}

int main(void)
{
  MUST(malloc(30));
  for (int i = 0; i < 50; i++)
    overflow();
  return 0;
}
