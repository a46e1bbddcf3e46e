// SPDX-License-Identifier: Apache-2.0
//
// How exactness carries over.
#include "base/amount.h"

// Differences of bounds to one side are bounded to both.
struct tide_amount tide_amount_of_two(int64_t value, struct tide_amount a, struct tide_amount b)
{
  enum tide_exactness most = a.exactness > b.exactness ? a.exactness : b.exactness;
  bool has_bounds =
      (a.exactness == TIDE_EXACT || a.bound) && (b.exactness == TIDE_EXACT || b.bound);
  if (most == TIDE_AT_MOST || most == TIDE_AT_LEAST)
    most = TIDE_WITHIN;
  return (struct tide_amount){value, most, has_bounds ? a.bound + b.bound : 0};
}
