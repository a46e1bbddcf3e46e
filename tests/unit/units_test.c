// SPDX-License-Identifier: Apache-2.0
//
// Numbers for people: units, rounding at the edges, and shares that do not lie.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/units.h"
#include "base/utf8.h"

#include <stdlib.h>

static void bytes(void **state)
{
  static const struct {
    int64_t n;
    const char *iec, *si;
  } cases[] = {
      {0, "0 B", "0 B"},
      {1, "1 B", "1 B"},
      {1000, "1,000 B", "1.0 kB"},
      {1023, "1,023 B", "1.0 kB"},
      {1024, "1.0 KiB", "1.0 kB"},
      {-1536, "-1.5 KiB", "-1.5 kB"},
      {432641638, "412.6 MiB", "432.6 MB"},
      {1048575, "1.0 MiB", "1.0 MB"}, // not 1024.0 KiB
      {999999999, "953.7 MiB", "1.0 GB"},
      {INT64_MAX, "8192.0 PiB", "9223.4 PB"},
      {INT64_MIN, "-8192.0 PiB", "-9223.4 PB"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char out[TIDE_UNITS_MAX];
    assert_string_equal(tide_units_bytes(out, cases[i].n, TIDE_UNITS_IEC), cases[i].iec);
    assert_string_equal(tide_units_bytes(out, cases[i].n, TIDE_UNITS_SI), cases[i].si);
  }
  char out[TIDE_UNITS_MAX];
  assert_string_equal(tide_units_bytes(out, INT64_MIN, TIDE_UNITS_BYTES),
                      "-9,223,372,036,854,775,808 B");
}

static void counts(void **state)
{
  char out[TIDE_UNITS_MAX];
  assert_string_equal(tide_units_count(out, 0), "0");
  assert_string_equal(tide_units_count(out, 999), "999");
  assert_string_equal(tide_units_count(out, 16204), "16,204");
  assert_string_equal(tide_units_count(out, 999999), "999,999");
  assert_string_equal(tide_units_count(out, 14239999), "14.2 M");
  assert_string_equal(tide_units_count(out, 999960000), "1.0 G");
  assert_string_equal(tide_units_digits(out, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void times(void **state)
{
  static const struct {
    uint64_t ns;
    const char *text;
  } cases[] = {
      {0, "0 ns"},
      {830, "830 ns"},
      {1000, "1.00 µs"},
      {12440, "12.4 µs"},
      {999600, "1.00 ms"},
      {3710000, "3.71 ms"},
      {250000000, "250 ms"},
      {8420000000, "8.42 s"},
      {9999000000, "10.0 s"},
      {99960000000, "1 min 40 s"},
      {125000000000, "2 min 05 s"},
      {11400000000000, "3 h 10 min"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char out[TIDE_UNITS_MAX];
    assert_string_equal(tide_units_time(out, cases[i].ns, 1), cases[i].text);
  }
  char out[TIDE_UNITS_MAX];
  assert_string_equal(tide_units_time(out, 12440, 0), "12.4 us");
}

static void shares(void **state)
{
  char out[TIDE_UNITS_MAX];
  assert_string_equal(tide_units_share(out, 462, 1000), "46.2 %");
  assert_string_equal(tide_units_share(out, 1, 1000000), "<0.1 %");
  assert_string_equal(tide_units_share(out, 0, 1000000), "0 %");
  assert_string_equal(tide_units_share(out, 5, 0), "0 %");
  assert_string_equal(tide_units_share(out, 999999, 1000000), "99.9 %");
  assert_string_equal(tide_units_share(out, 1000000, 1000000), "100.0 %");
  assert_string_equal(tide_units_percent(out, 61, 100), "61 %");
  assert_string_equal(tide_units_percent(out, 1, 1000), "<1 %");
  assert_string_equal(tide_units_percent(out, 999, 1000), ">99 %");
  assert_string_equal(tide_units_percent(out, 1000, 1000), "100 %");
  assert_string_equal(tide_units_percent(out, 0, 0), "0 %");
}

static void expect_fit(const char *text, size_t width, int utf8, const char *expected)
{
  char *fitted = tide_utf8_fit(text, width, utf8);
  assert_string_equal(fitted, expected);
  assert_true(tide_utf8_width(fitted) <= width);
  free(fitted);
}

static void fits_by_columns_not_bytes(void **state)
{
  expect_fit("short", 10, 1, "short");
  expect_fit("abcdefghij", 10, 1, "abcdefghij");
  expect_fit("abcdefghijk", 10, 1, "abc…fghijk");
  expect_fit("abcdefghijk", 10, 0, "ab...ghijk");
  expect_fit("größenänderung", 14, 1, "größenänderung");
  expect_fit("größenänderung", 7, 1, "gr…rung");
  expect_fit("日本語の名前です", 9, 1, "日…前です"); // two columns each
  expect_fit("abc", 1, 1, "a");
  expect_fit("abc", 0, 1, "");
}

static void cleans_what_a_terminal_would_obey(void **state)
{
  static const struct {
    const char *in, *out;
  } cases[] = {
      {"\x1b]0;owned\x07", "?]0;owned?"},
      {"a\nb\tc", "a?b?c"},
      {"a\xff"
       "b",
       "a?b"},
      {"\xc2\x9b"
       "31m",
       "?31m"},
      {"\xe2\x80\xae"
       "abc",
       "?abc"},
      {"naïve", "naïve"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *clean = tide_utf8_clean(cases[i].in, true);
    assert_string_equal(clean, cases[i].out);
    free(clean);
  }
  char *ascii = tide_utf8_clean("naïve", false);
  assert_string_equal(ascii, "na?ve");
  free(ascii);
}

UNIT_TESTS(units_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes),
      cmocka_unit_test(counts),
      cmocka_unit_test(times),
      cmocka_unit_test(shares),
      cmocka_unit_test(fits_by_columns_not_bytes),
      cmocka_unit_test(cleans_what_a_terminal_would_obey),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
