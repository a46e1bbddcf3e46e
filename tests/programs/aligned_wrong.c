// SPDX-License-Identifier: Apache-2.0
//
// Requests that the aligned allocators refuse: the same answers and the same errno as without a
// recorder, nothing counted as allocated.
//
// truth: total: allocations=0
// truth: capture: images<=1
#include "site.h"
#include <errno.h>
#include <malloc.h>

int main(void)
{
  void *untouched = (void *)1, *p = untouched;
  volatile size_t huge = ~0ul / 2, three = 3;
  errno = 0;
  MUST(posix_memalign(&p, three, 100) == EINVAL && p == untouched && errno == 0);
  MUST(posix_memalign(&p, 64, huge) == ENOMEM && p == untouched);
  errno = 0;
  MUST(memalign(4096, huge) == NULL && errno == ENOMEM);
  errno = 0;
  MUST(reallocarray(NULL, huge, three) == NULL && errno == ENOMEM);
  return 0;
}
