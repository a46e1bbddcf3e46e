// SPDX-License-Identifier: Apache-2.0
//
// No hook touches errno where the real function does not: set it, allocate, look.
//
// truth: total: allocations=8*1000, frees=8*1000-1000, live_blocks=1000
#include "site.h"
#include <errno.h>
#include <malloc.h>

int main(void)
{
  for (int i = 0; i < 1000; i++) {
    void *p, *q;
    errno = 77;
    p = malloc(20), MUST(errno == 77);
    p = realloc(p, 4000), MUST(errno == 77);
    free(p), MUST(errno == 77);
    p = calloc(3, 9), MUST(errno == 77);
    free(p), MUST(errno == 77);
    p = memalign(64, 10), MUST(errno == 77);
    free(p), MUST(errno == 77);
    MUST(posix_memalign(&p, 64, 20) == 0 && errno == 77);
    free(p), MUST(errno == 77);
    p = aligned_alloc(64, 64), MUST(errno == 77);
    q = reallocarray(p, 10, 10), MUST(q && errno == 77);
    free(q), MUST(errno == 77);
    free(NULL), MUST(errno == 77);
    p = malloc(300000), MUST(p && errno == 77); // from mmap
  }
  return 0;
}
