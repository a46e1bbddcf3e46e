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

static ALONE void twin(void)
{
  sink = malloc(1013); // frame other.0: twin
}

DEAD(dead_between)

ALONE void call_other(void)
{
  twin(); // frame other.1: call_other
  zero++;
}

DEAD(dead_behind)
