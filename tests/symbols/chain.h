// SPDX-License-Identifier: Apache-2.0
//
// What the C files share; functions of a header are inlined from another file than they are called.
#pragma once
#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline))
#define ALONE __attribute__((noinline))

extern void *volatile sink;
extern volatile int zero;

void call_other(void);
void hold_library(void);
void hold_assembly(void);

INLINE void *header_deep(size_t n)
{
  return malloc(n); // inlined header.0: header_deep
}

INLINE void *from_header(size_t n)
{
  return header_deep(n); // inlined header.1: from_header
}
