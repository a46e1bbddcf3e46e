// SPDX-License-Identifier: Apache-2.0
//
// An order by numbers, against one made by comparing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/order.h"

#include <stdbool.h>
#include <stdlib.h>

static uint64_t next_random(uint64_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

// Rising keys, equals by rising index: the indexes begin as 0, 1, 2, …
static void check(size_t n, unsigned shift, bool falling)
{
  uint64_t random = 88172645463325252u + n + shift;
  uint32_t *order = calloc(n + 1, sizeof *order);
  uint64_t *keys = calloc(n + 1, sizeof *keys);
  uint8_t *met = calloc(n + 1, 1);
  for (size_t i = 0; i < n; i++) {
    int64_t number = (int64_t)next_random(&random) >> shift; // below zero, too
    keys[i] = falling ? tide_order_falling(number) : (uint64_t)number;
    order[i] = (uint32_t)i;
  }
  tide_order_by(order, n, keys);
  for (size_t i = 0; i < n; i++) {
    assert_true(order[i] < n && !met[order[i]]);
    met[order[i]] = 1;
    if (!i)
      continue;
    uint64_t before = keys[order[i - 1]], now = keys[order[i]];
    assert_true(before < now || (before == now && order[i - 1] < order[i]));
  }
  free(order);
  free(keys);
  free(met);
}

static void indexes_rise_by_their_keys(void **state)
{
  (void)state;
  for (unsigned shift = 0; shift < 64; shift += 9) { // from all different to two keys
    check(0, shift, false);
    check(1, shift, false);
    check(2, shift, true);
    check(1000, shift, false);
    check(3000, shift, true);
  }
}

static void larger_numbers_come_first_when_falling(void **state)
{
  (void)state;
  const int64_t falling[] = {INT64_MAX, 1000, 1, 0, -1, -1000, INT64_MIN};
  for (size_t i = 1; i < sizeof falling / sizeof *falling; i++)
    assert_true(tide_order_falling(falling[i - 1]) < tide_order_falling(falling[i]));
}

UNIT_TESTS(order_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(indexes_rise_by_their_keys),
      cmocka_unit_test(larger_numbers_come_first_when_falling),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
