// SPDX-License-Identifier: Apache-2.0
//
// Two blocks that grow in turn, each in the other's way: they must move, keep their contents,
// and still be two blocks. The peak counts one copy of each, as the program sees it.
//
// agent: yes
// truth: site ^grow: resizes=38, allocations=40, frees=39, live_blocks=1
// truth: total: allocations=40, frees=39, live_blocks=1, live_bytes=100000*20
// truth: total: peak_bytes=100000*20*2, moved>=1, moved_bytes>=100000
// truth: total: resized_old_bytes=100000*190*2, resized_new_bytes=100000*209*2
#include "site.h"

SITE static char *grow(char *block, size_t size)
{
  return realloc(block, size);
}

int main(void)
{
  char *left = NULL, *right = NULL;
  for (size_t i = 1; i <= 20; i++) {
    left = grow(left, 100000 * i);
    right = grow(right, 100000 * i);
    left[100000 * i - 1] = (char)i;
    right[100000 * i - 1] = (char)(i + 50);
    for (size_t k = 1; k <= i; k++)
      MUST(left[100000 * k - 1] == (char)k && right[100000 * k - 1] == (char)(k + 50));
  }
  free(right);
  return 0;
}
