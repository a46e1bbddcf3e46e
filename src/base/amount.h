// SPDX-License-Identifier: Apache-2.0
//
// A number together with how exactly it is known. Whatever words a number for people takes one of
// these (base/units.h), so whoever has a bare number must say which it is: tide_exact() for what is
// counted here and now, model/exactness.h for what an image tells.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum tide_exactness {
  TIDE_EXACT,
  TIDE_WITHIN,    // off by the bound at most, up or down; bound 0: nobody knows by how much
  TIDE_AT_MOST,   // not more than that; less by the bound at most (0: nobody knows)
  TIDE_AT_LEAST,  // not less than that
  TIDE_ESTIMATED, // from samples
  TIDE_UNKNOWN,
};

struct tide_amount {
  int64_t value;
  enum tide_exactness exactness;
  uint64_t bound; // in the unit of the value
};

static inline struct tide_amount tide_exact(int64_t value)
{
  return (struct tide_amount){.value = value};
}

// Another number of the same origin: a share of it, a row below it.
static inline struct tide_amount tide_amount_like(struct tide_amount amount, int64_t value)
{
  return (struct tide_amount){value, amount.exactness, amount.bound};
}

// What two of them have between them, their sum or difference: as the less exact of the two, and
// bounds add up.
struct tide_amount tide_amount_of_two(int64_t value, struct tide_amount a, struct tide_amount b);
