// SPDX-License-Identifier: Apache-2.0
//
// A program that moves the break itself, with brk(): 16 pages up, 10 of them down again.
//
// agent: yes
// truth: pages: live_bytes=4096*6, peak_bytes=4096*16
// truth: page-site move_break: live_bytes=4096*6
// truth: capture: images=1
#include "site.h"

SITE static void move_break(char *to)
{
  MUST(brk(to) == 0);
}

int main(void)
{
  char *start = sbrk(0);
  move_break(start + 16 * 4096);
  memset(start, 1, 16 * 4096);
  move_break(start + 6 * 4096);
  MUST((char *)sbrk(0) == start + 6 * 4096);
  return 0;
}
