// SPDX-License-Identifier: Apache-2.0
//
// free of a pointer into a block: glibc's own message and abort, exactly as without a recorder.
//
// status: signal 6
// truth: total: allocations=1, bytes=100, frees=0, live_blocks=1
// truth: complete: unknown_frees=1
#include "site.h"

int main(void)
{
  char *volatile block = malloc(100);
  say("freeing the wrong address\n");
  free(block + 8);
  say("not reached\n");
  return 0;
}
