// SPDX-License-Identifier: Apache-2.0
//
// The same block freed twice: the second free is glibc's to judge, and is counted as unknown.
//
// status: signal 6
// truth: total: allocations=1, bytes=100, frees=1, live_blocks=0
// truth: complete: unknown_frees=1
#include "site.h"

int main(void)
{
  char *volatile block = malloc(100);
  free(block);
  say("freeing again\n");
  free(block);
  say("not reached\n");
  return 0;
}
