// SPDX-License-Identifier: Apache-2.0
//
// Two shared objects of one shape are built from this file: built with -DNAME=a it allocates in
// allocate_a, with -DNAME=b in allocate_b. Everything else, sizes and addresses, is the same.
//
// helper: lib_shape_a.so -DNAME=a
// helper: lib_shape_b.so -DNAME=b
#include <stdlib.h>
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

__attribute__((noipa)) void *JOIN(allocate_, NAME)(void)
{
  return malloc(64);
}

__attribute__((noipa)) void *entry(void)
{
  return JOIN(allocate_, NAME)();
}
