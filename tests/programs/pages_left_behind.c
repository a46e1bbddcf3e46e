// SPDX-License-Identifier: Apache-2.0
//
// mremap can move the content of a mapping and leave the mapping behind, empty but there, and can
// be told where to go: with MREMAP_DONTUNMAP the address is a hint even without MREMAP_FIXED.
//
// truth: pages: live_bytes=4096*(8+8)
// truth: page-site by_mmap: live_bytes=4096*8
// truth: page-site move: live_bytes=4096*8
// qemu: no
#include "site.h"
#include <sys/mman.h>

enum { BYTES = 8 * 4096 };

SITE static char *by_mmap(void)
{
  char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(at != MAP_FAILED);
  return at;
}

SITE static char *move(char *from, char *to)
{
  return mremap(from, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, to);
}

int main(void)
{
  char *from = by_mmap(), *to = (char *)0x500000000000;
  from[0] = 'x';
  char *moved = move(from, to);
  if (moved == MAP_FAILED)
    _exit(97); // before Linux 5.7
  say(moved == to ? "where it was told\n" : "elsewhere\n");
  MUST(moved[0] == 'x' && from[0] == 0);
  return 0;
}
