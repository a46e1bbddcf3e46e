// SPDX-License-Identifier: Apache-2.0
//
// A second unit in C++. Not the inlining function first: for an inlined call that starts with its
// unit gcc may write an empty range, which in DWARF 4 reads as the end of the list.
#include "chain.hpp"

namespace depot
{
void across(size_t n)
{
  sink = malloc(n); // either across.0: depot::across
}

ALONE void hold_elsewhere()
{
  Shared().deep(1125); // frame shared_too.2: depot::hold_elsewhere
  zero = zero + 1;
}
} // namespace depot
