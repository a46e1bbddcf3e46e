// SPDX-License-Identifier: Apache-2.0
//
// Looking for a place in what is sorted.
#pragma once
#include <stddef.h>

// Index of the first of n items, sorted by a member, whose member is not below key; n: there is
// none.
#define TIDE_FIRST_NOT_BELOW(items, n, member, key)                                                \
  ({                                                                                               \
    size_t low_ = 0, high_ = (n);                                                                  \
    while (low_ < high_) {                                                                         \
      size_t middle_ = low_ + (high_ - low_) / 2;                                                  \
      if ((items)[middle_].member < (key))                                                         \
        low_ = middle_ + 1;                                                                        \
      else                                                                                         \
        high_ = middle_;                                                                           \
    }                                                                                              \
    low_;                                                                                          \
  })
