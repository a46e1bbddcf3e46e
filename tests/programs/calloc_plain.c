// SPDX-License-Identifier: Apache-2.0
//
// calloc counts n times size, and its memory is zero even where a dirty block is handed out again.
//
// agent: yes
// truth: total: allocations=400, bytes=200*96+200*96, frees=200, live_bytes=200*96
// truth: site ^zeroed: allocations=200, bytes=200*12*8, live_blocks=200
// truth: site ^dirty: allocations=200, bytes=200*96, frees=200
#include "site.h"

static char *block[200];

SITE static char *dirty(void)
{
  return malloc(96);
}

SITE static char *zeroed(void)
{
  return calloc(12, 8);
}

int main(void)
{
  for (int i = 0; i < 200; i++)
    memset(block[i] = dirty(), 0xaa, 96);
  for (int i = 0; i < 200; i++)
    free(block[i]);
  for (int i = 0; i < 200; i++) {
    block[i] = zeroed();
    for (int k = 0; k < 96; k++)
      MUST(block[i][k] == 0);
  }
  return 0;
}
