// SPDX-License-Identifier: Apache-2.0
//
// The recorder's own mappings are counted as the kernel counts them, in whole pages: limits are
// raised by that number, and a program must not fail earlier for being recorded.
#include "rt/sys.h"

#include <stdio.h>

static int n_bad;

static void expect(const char *what, uint64_t want)
{
  uint64_t got = tide_sys_mapped_bytes();
  if (got == want)
    return;
  printf("%s: %llu bytes counted, %llu mapped\n", what, (unsigned long long)got,
         (unsigned long long)want);
  n_bad++;
}

int main(void)
{
  const uint64_t sizes[] = {4096, 16384, 65536};
  for (int i = 0; i < 3; i++) {
    tide_sys_page_bytes = sizes[i];
    char *small = tide_sys_map_private(100);
    expect("less than a page", sizes[i]);
    char *larger = tide_sys_map_kept(sizes[i] + 1);
    expect("a page and a byte", 3 * sizes[i]);
    if (!small || !larger)
      return 1;
    tide_sys_unmap(larger, sizes[i] + 1);
    expect("one is gone", sizes[i]);
    tide_sys_unmap(small, 100);
    expect("both are gone", 0);
  }
  return n_bad != 0;
}
