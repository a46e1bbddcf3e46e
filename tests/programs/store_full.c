// SPDX-License-Identifier: Apache-2.0
//
// More stacks than a small store has room for: under a limit on address space it is small. Stacks
// are lost, allocations and bytes are not.
//
// wrap: sh -c 'ulimit -v 524288; exec "$@"' sh
// truth: total: allocations=2**16, bytes=2**16*24, frees=2**16, live_blocks=0
// truth: complete: lost_full>=2**14, lost_full<=2**16
// truth: site ^leaf: allocations>=2**13
// qemu: no
#include "site.h"

SITE static void leaf(void)
{
  void *p = malloc(24);
  MUST(p);
  free(p);
}

SITE static void right(int depth);

// Every path through this tree of calls is a stack.
SITE static void left(int depth)
{
  if (!depth) {
    leaf();
    return;
  }
  left(depth - 1);
  right(depth - 1);
}

SITE static void right(int depth)
{
  if (!depth) {
    leaf();
    return;
  }
  left(depth - 1);
  right(depth - 1);
}

int main(void)
{
  left(15);
  right(15);
  return 0;
}
