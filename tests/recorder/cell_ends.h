// SPDX-License-Identifier: Apache-2.0
//
// What a cell has of ends, a single's and those of a cell without any among them.
#pragma once
#include "store/annex.h"

static inline struct tide_ends cell_ends(const struct tide_cell *c)
{
  bool held = c->stamp.interval & TIDE_SINGLE_AT_PEAK;
  const struct tide_ends *ends = tide_ends_find(c);
  if (tide_cell_is_single(c))
    return (struct tide_ends){.high_bytes = (int64_t)c->b_alloc,
                              .peak_bytes = held ? (int64_t)c->b_alloc : 0};
  return ends ? *ends : (struct tide_ends){0};
}
