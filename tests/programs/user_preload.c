// SPDX-License-Identifier: Apache-2.0
//
// The user's own LD_PRELOAD is kept, works, and is still visible to the program.
//
// helpers: preload_mark.so
// env: LD_PRELOAD=./preload_mark.so
// truth: site ^grab: allocations=10
// qemu: no
#include "site.h"

__attribute__((weak)) int preload_mark(void);

SITE static void grab(void)
{
  MUST(malloc(10));
}

int main(void)
{
  for (int i = 0; i < 10; i++)
    grab();
  say_number("the mark says", preload_mark ? (unsigned long)preload_mark() : 0);
  MUST(getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "preload_mark.so"));
  return 0;
}
