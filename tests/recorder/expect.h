// SPDX-License-Identifier: Apache-2.0
//
// What has to be so. Says what is not, and goes on; main() returns n_bad != 0.
#pragma once
#include <stdio.h>

static int n_bad;

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition) && ++n_bad)                                                                   \
      printf("line %d: not so: %s\n", __LINE__, #condition);                                       \
  } while (0)
