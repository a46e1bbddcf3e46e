// SPDX-License-Identifier: Apache-2.0
//
// system() and popen(): the shell is another image, the program's own numbers stay its own.
//
// truth: site ^grab: allocations=10, bytes=100
// truth: capture: images>=3
// qemu: no
#include "site.h"
#include <stdio.h>

SITE static void grab(void)
{
  MUST(malloc(10));
}

int main(void)
{
  char line[32] = "";
  for (int i = 0; i < 10; i++)
    grab();
  MUST(system("exit 3") == 3 << 8);
  FILE *from = popen("echo from the shell", "r");
  MUST(from && fgets(line, sizeof line, from));
  say(line);
  MUST(pclose(from) == 0);
  return 0;
}
