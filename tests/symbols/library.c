// SPDX-License-Identifier: Apache-2.0
//
// A chain that begins in a shared library.
#include "chain.h"

INLINE void *take(size_t n)
{
  return malloc(n); // inlined library.0: take
}

void hold_library(void)
{
  sink = take(1014); // frame library.1: hold_library
}
