// SPDX-License-Identifier: Apache-2.0
//
// open_memstream grows a buffer inside libc by its own means; it belongs to who writes to it.
//
// truth: site fill: live_blocks=1, live_bytes>=20000
#include "site.h"
#include <stdio.h>

static char *text;
static size_t n_text;

SITE static void fill(void)
{
  FILE *to = open_memstream(&text, &n_text);
  for (int i = 0; i < 2000; i++)
    fprintf(to, "%09d\n", i);
  fclose(to);
}

int main(void)
{
  fill();
  MUST(n_text == 20000 && !memcmp(text + 19990, "000001999\n", 10));
  return 0;
}
