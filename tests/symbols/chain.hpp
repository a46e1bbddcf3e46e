// SPDX-License-Identifier: Apache-2.0
//
// What the C++ files share: functions of internal linkage that both have, so that dwz keeps one
// description for both, and a call from one file into the other, inlined at link time or not.
#pragma once
#include <cstdlib>

#define INLINE inline __attribute__((always_inline))
#define ALONE __attribute__((noinline))

extern void *volatile sink;
extern volatile int zero;

namespace depot
{
namespace
{
struct Shared {
  struct Inner {
    INLINE void take(size_t n)
    {
      // inlined shared.0, shared_too.0: depot::(anonymous namespace)::Shared::Inner::take
      sink = malloc(n);
    }
  };
  INLINE void deep(size_t n)
  {
    // inlined shared.1, shared_too.1: depot::(anonymous namespace)::Shared::deep
    Inner().take(n);
  }
};
} // namespace

void hold_elsewhere();
void across(size_t n);
} // namespace depot
