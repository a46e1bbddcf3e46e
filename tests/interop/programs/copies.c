// SPDX-License-Identifier: Apache-2.0
//
// Copies and events for DHAT's other modes. Built without builtins, so that every copy is a call.
#include <string.h>
#include <valgrind/dhat.h>

#define SITE __attribute__((noipa))

static char from[2000], to[2000];

SITE void copy_blocks(void)
{
  for (size_t i = 0; i < 10; i++)
    memcpy(to, from, 100 + i);
}

SITE void move_blocks(void)
{
  for (int i = 0; i < 4; i++)
    memmove(to + 1, to, 50);
}

SITE void copy_text(void)
{
  for (int i = 0; i < 5; i++)
    strcpy(to, "eleven char");
}

SITE void event(int weight)
{
  DHAT_AD_HOC_EVENT(weight);
}

int main(void)
{
  copy_blocks();
  move_blocks();
  copy_text();
  for (int i = 1; i < 4; i++)
    event(i);
  return 0;
}
