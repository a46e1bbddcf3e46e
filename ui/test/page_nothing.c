// SPDX-License-Identifier: Apache-2.0
//
// A few blocks, none of which is left, and none of which is freed at once.
#include <stdlib.h>

int main(void)
{
  void *blocks[8];
  for (int i = 0; i < 8; i++)
    blocks[i] = malloc(100);
  for (int i = 0; i < 8; i++)
    free(blocks[i]);
  return 0;
}
