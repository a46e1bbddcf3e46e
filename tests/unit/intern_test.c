// SPDX-License-Identifier: Apache-2.0
//
// Numbers for byte strings: each distinct one has its own, in the order of arrival.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/lookup.h"

#include <stdio.h>
#include <string.h>

static void same_key_same_number(void **state)
{
  struct tide_intern intern = {0};
  assert_int_equal(tide_intern_text(&intern, ""), 0);
  assert_int_equal(tide_intern_text(&intern, "a"), 1);
  assert_int_equal(tide_intern_add(&intern, "a\0b", 3), 2);
  assert_int_equal(tide_intern_text(&intern, "a"), 1);
  assert_int_equal(tide_intern_add(&intern, NULL, 0), 0);
  assert_int_equal(intern.n, 3);
  size_t n;
  const void *key = tide_intern_get(&intern, 2, &n);
  assert_int_equal(n, 3);
  assert_memory_equal(key, "a\0b", 3);
  tide_intern_get(&intern, 0, &n);
  assert_int_equal(n, 0);
  tide_intern_done(&intern);
  tide_intern_done(&intern);
}

static void many_keys(void **state)
{
  struct tide_intern intern = {0};
  enum { N = 50000 };
  for (int round = 0; round < 2; round++)
    for (uint32_t i = 0; i < N; i++) {
      char text[16];
      snprintf(text, sizeof text, "%u", i * 7);
      assert_int_equal(tide_intern_text(&intern, text), i);
    }
  assert_int_equal(intern.n, N);
  size_t n;
  const char *last = tide_intern_get(&intern, N - 1, &n);
  assert_memory_equal(last, "349993", n);
  tide_intern_done(&intern);
}

UNIT_TESTS(intern_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_key_same_number),
      cmocka_unit_test(many_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
