// SPDX-License-Identifier: Apache-2.0
//
// A second unit: a static function of the same name as one in the first, and functions that are
// not used, whose lines and ranges are still there when the linker has thrown them away.
#include "chain.h"

INLINE void *take(size_t n)
{
  return malloc(n);
}

#define DEAD(name)                                                                                 \
  ALONE void name(void)                                                                            \
  {                                                                                                \
    for (int i = 0; i < zero; i++)                                                                 \
      sink = take((size_t)i);                                                                      \
  }

DEAD(dead_before)

#ifdef THROWN_AWAY
// What the linker leaves of it, at address 0, reaches over functions that are still there, and not
// over the end of the code: that is for the other.
void dead_and_large(void)
{
  __asm__ volatile(".skip 0x20000");
  sink = take(2);
}

ALONE void live_and_large(void)
{
  if (zero < 0)
    __asm__ volatile(".skip 0x40000");
  zero++;
}
#else
#define live_and_large()
#endif

static ALONE void twin(void)
{
  sink = malloc(1013); // frame other.0: twin
}

DEAD(dead_between)

ALONE void call_other(void)
{
  twin(); // frame other.1: call_other
  live_and_large();
  zero++;
}

DEAD(dead_behind)
