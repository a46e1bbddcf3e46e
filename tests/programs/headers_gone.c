// SPDX-License-Identifier: Apache-2.0
//
// A program without the ELF header that it was loaded by: its first page is overwritten, or cannot
// be read at all, before the first allocation comes from it.
//
// build: -Wl,-z,now
// qemu: no
// run[overwritten]: overwritten
// run[unreadable]: unreadable
// truth: site ^grab from outer from main: allocations=50, bytes=50*70
#include "site.h"
#include <string.h>
#include <sys/mman.h>

extern char __ehdr_start[];

SITE static void grab(void)
{
  MUST(malloc(70));
}

SITE static void outer(void)
{
  for (int i = 0; i < 50; i++)
    grab();
}

int main(int argc, char **argv)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *first = (char *)((unsigned long)__ehdr_start & -page);
  MUST(argc == 2);
  if (!strcmp(argv[1], "unreadable")) {
    MUST(mprotect(first, page, PROT_NONE) == 0);
  } else {
    MUST(mprotect(first, page, PROT_READ | PROT_WRITE) == 0);
    memset(first, 0x5a, 64);
    memset(first + 64, 0xa5, 512); // program headers
  }
  outer();
  say("done\n");
  return 0;
}
