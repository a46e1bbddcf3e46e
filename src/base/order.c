// SPDX-License-Identifier: Apache-2.0
//
// See order.h.
#include "base/order.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

static unsigned digit_of(uint64_t key, unsigned shift)
{
  return (unsigned)(key >> shift) & (DIGITS - 1);
}

static void order_by_digit(uint32_t *to, const uint32_t *from, size_t n, const uint64_t *keys,
                           unsigned shift)
{
  size_t place[DIGITS + 1] = {0};
  for (size_t i = 0; i < n; i++)
    place[digit_of(keys[i], shift) + 1]++;
  for (unsigned k = 0; k < DIGITS; k++)
    place[k + 1] += place[k];
  for (size_t i = 0; i < n; i++)
    to[place[digit_of(keys[from[i]], shift)]++] = from[i];
}

uint32_t *tide_order_new(size_t n)
{
  uint32_t *order = tide_alloc_array(n + 1, sizeof *order);
  for (size_t i = 0; i < n; i++)
    order[i] = (uint32_t)i;
  return order;
}

void tide_order_by(uint32_t *order, size_t n, const uint64_t *keys)
{
  uint64_t differ = 0;
  for (size_t i = 1; i < n; i++)
    differ |= keys[i] ^ keys[0];
  if (!differ)
    return;
  uint32_t *from = order, *to = tide_alloc_array(n, sizeof *to);
  for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
    if (!digit_of(differ, shift))
      continue;
    order_by_digit(to, from, n, keys, shift);
    uint32_t *other = from;
    from = to;
    to = other;
  }
  if (from != order) { // it ended in the other one
    memcpy(order, from, n * sizeof *order);
    to = from;
  }
  free(to);
}
