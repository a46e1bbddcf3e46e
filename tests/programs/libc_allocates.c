// SPDX-License-Identifier: Apache-2.0
//
// Functions of libc that allocate for their caller: strdup, asprintf, getline, realpath. The
// blocks belong to the stack that called them, wherever inside libc malloc was called from.
//
// truth: site by_strdup: allocations=50, bytes=50*6, live_blocks=50
// truth: site by_getdelim: allocations>=1, live_blocks=1
// truth: site by_asprintf: live_blocks=1, live_bytes=9
// truth: site by_realpath: live_blocks=1
#include "site.h"
#include <stdio.h>

static char *kept[64];

SITE static void by_strdup(int i)
{
  kept[i] = strdup("hello");
}

SITE static void by_asprintf(void)
{
  MUST(asprintf(&kept[51], "%08d", 42) == 8);
  MUST((kept[51] = realloc(kept[51], 9)) != NULL);
}

SITE static void by_getdelim(FILE *from)
{
  size_t room = 0;
  MUST(getline(&kept[52], &room, from) == 5);
}

SITE static void by_realpath(void)
{
  MUST((kept[53] = realpath("/", NULL)) != NULL);
}

int main(void)
{
  char text[] = "line\n";
  FILE *from = fmemopen(text, 5, "r");
  for (int i = 0; i < 50; i++)
    by_strdup(i);
  by_asprintf();
  by_getdelim(from);
  by_realpath();
  fclose(from);
  return 0;
}
