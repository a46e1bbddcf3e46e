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

static const struct tide_style in_si = {.units = TIDE_UNITS_SI};
static const struct tide_style in_bytes = {.units = TIDE_UNITS_BYTES};
static const struct tide_style in_utf8 = {.utf8 = true};

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
    assert_string_equal(tide_units_bytes(out, tide_exact(cases[i].n), TIDE_STYLE_PLAIN),
                        cases[i].iec);
    assert_string_equal(tide_units_bytes(out, tide_exact(cases[i].n), in_si), cases[i].si);
  }
  char out[TIDE_UNITS_MAX];
  assert_string_equal(tide_units_bytes(out, tide_exact(INT64_MIN), in_bytes),
                      "-9,223,372,036,854,775,808 B");
}

static void counts(void **state)
{
  char out[TIDE_UNITS_MAX];
  assert_string_equal(tide_units_plain(out, 0), "0");
  assert_string_equal(tide_units_plain(out, 999), "999");
  assert_string_equal(tide_units_plain(out, 16204), "16,204");
  assert_string_equal(tide_units_plain(out, 999999), "999,999");
  assert_string_equal(tide_units_plain(out, 14239999), "14.2 M");
  assert_string_equal(tide_units_plain(out, 999960000), "1.0 G");
  assert_string_equal(tide_units_digits(out, UINT64_MAX), "18,446,744,073,709,551,615");
}

// Each word for what is not exact, with and without UTF-8, and beside a text that says the bound.
static void what_is_not_exact_says_so(void **state)
{
  static const int64_t size = 432013312;
  static const uint64_t bound = 1258291;
  static const struct {
    enum tide_exactness exactness;
    uint64_t bound;
    const char *utf8, *ascii, *cell, *count;
  } cases[] = {
      {TIDE_EXACT, 0, "412.0 MiB", "412.0 MiB", "412.0 MiB", "432.0 M"},
      {TIDE_WITHIN, bound, "412.0 MiB ± 1.2 MiB", "412.0 MiB +/- 1.2 MiB", "412.0 MiB",
       "432.0 M ± 1.3 M"},
      {TIDE_WITHIN, 0, "≈ 412.0 MiB", "~ 412.0 MiB", "≈ 412.0 MiB", "≈ 432.0 M"},
      {TIDE_AT_MOST, bound, "412.0 MiB (too high by 1.2 MiB at most)",
       "412.0 MiB (too high by 1.2 MiB at most)", "412.0 MiB",
       "432.0 M (too high by 1.3 M at most)"},
      {TIDE_AT_MOST, 0, "≤ 412.0 MiB", "<= 412.0 MiB", "≤ 412.0 MiB", "≤ 432.0 M"},
      {TIDE_AT_LEAST, 0, "≥ 412.0 MiB", ">= 412.0 MiB", "≥ 412.0 MiB", "≥ 432.0 M"},
      {TIDE_ESTIMATED, 0, "≈ 412.0 MiB", "~ 412.0 MiB", "≈ 412.0 MiB", "≈ 432.0 M"},
      {TIDE_UNKNOWN, 0, "unknown", "unknown", "unknown", "unknown"},
  };
  const struct tide_style cell = {.utf8 = true, .bounds_beside = true};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char out[TIDE_UNITS_MAX];
    struct tide_amount amount = {size, cases[i].exactness, cases[i].bound};
    assert_string_equal(tide_units_bytes(out, amount, in_utf8), cases[i].utf8);
    assert_string_equal(tide_units_bytes(out, amount, TIDE_STYLE_PLAIN), cases[i].ascii);
    assert_string_equal(tide_units_bytes(out, amount, cell), cases[i].cell);
    assert_string_equal(tide_units_count(out, amount, in_utf8), cases[i].count);
  }
}

static void the_longest_numbers_have_room(void **state)
{
  char out[TIDE_UNITS_MAX];
  struct tide_amount amount = {INT64_MIN, TIDE_AT_MOST, UINT64_MAX};
  assert_string_equal(tide_units_bytes(out, amount, in_bytes),
                      "-9,223,372,036,854,775,808 B (too high by 18,446,744,073,709,551,615 B at "
                      "most)");
}

static void bounds_stand_alone(void **state)
{
  char out[TIDE_UNITS_MAX];
  struct tide_amount within = {5, TIDE_WITHIN, 2048}, sum = {5, TIDE_AT_MOST, 2048};
  assert_string_equal(tide_units_bound(out, within, in_utf8), "± 2.0 KiB");
  assert_string_equal(tide_units_bound(out, sum, in_utf8), "too high by 2.0 KiB at most");
  assert_string_equal(tide_units_bound(out, tide_exact(5), in_utf8), "");
  within.exactness = TIDE_ESTIMATED; // a bound of an estimate is none
  assert_string_equal(tide_units_bound(out, within, in_utf8), "");
}

static void shares_of_estimates_are_some(void **state)
{
  char out[TIDE_UNITS_MAX];
  struct tide_amount amount = {462, TIDE_ESTIMATED, 0};
  assert_string_equal(tide_units_share(out, amount, 1000, in_utf8), "≈ 46.2 %");
  assert_string_equal(tide_units_percent(out, amount, 1000, TIDE_STYLE_PLAIN), "~ 46 %");
  amount.value = 0;
  assert_string_equal(tide_units_share(out, amount, 1000, in_utf8), "0 %");
  assert_string_equal(tide_units_percent(out, amount, 1000, in_utf8), "0 %");
}

static void two_are_as_exact_as_the_worse(void **state)
{
  struct tide_amount within = {9, TIDE_WITHIN, 3}, sum = {9, TIDE_AT_MOST, 4};
  struct tide_amount guess = {9, TIDE_ESTIMATED, 0}, vague = {9, TIDE_WITHIN, 0};
  struct tide_amount of = tide_amount_of_two(2, tide_exact(7), tide_exact(5));
  assert_int_equal(of.value, 2);
  assert_int_equal(of.exactness, TIDE_EXACT);
  of = tide_amount_of_two(2, within, sum); // either may be off, to either side of the difference
  assert_int_equal(of.exactness, TIDE_WITHIN);
  assert_int_equal(of.bound, 7);
  of = tide_amount_of_two(2, within, vague);
  assert_int_equal(of.exactness, TIDE_WITHIN);
  assert_int_equal(of.bound, 0);
  assert_int_equal(tide_amount_of_two(2, within, guess).exactness, TIDE_ESTIMATED);
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
  assert_string_equal(tide_units_share(out, tide_exact(462), 1000, TIDE_STYLE_PLAIN), "46.2 %");
  assert_string_equal(tide_units_share(out, tide_exact(1), 1000000, TIDE_STYLE_PLAIN), "<0.1 %");
  assert_string_equal(tide_units_share(out, tide_exact(0), 1000000, TIDE_STYLE_PLAIN), "0 %");
  assert_string_equal(tide_units_share(out, tide_exact(5), 0, TIDE_STYLE_PLAIN), "0 %");
  assert_string_equal(tide_units_share(out, tide_exact(999999), 1000000, TIDE_STYLE_PLAIN),
                      "99.9 %");
  assert_string_equal(tide_units_share(out, tide_exact(1000000), 1000000, TIDE_STYLE_PLAIN),
                      "100.0 %");
  assert_string_equal(tide_units_percent(out, tide_exact(61), 100, TIDE_STYLE_PLAIN), "61 %");
  assert_string_equal(tide_units_percent(out, tide_exact(1), 1000, TIDE_STYLE_PLAIN), "<1 %");
  assert_string_equal(tide_units_percent(out, tide_exact(999), 1000, TIDE_STYLE_PLAIN), ">99 %");
  assert_string_equal(tide_units_percent(out, tide_exact(1000), 1000, TIDE_STYLE_PLAIN), "100 %");
  assert_string_equal(tide_units_percent(out, tide_exact(0), 0, TIDE_STYLE_PLAIN), "0 %");
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
      cmocka_unit_test(what_is_not_exact_says_so),
      cmocka_unit_test(the_longest_numbers_have_room),
      cmocka_unit_test(bounds_stand_alone),
      cmocka_unit_test(shares_of_estimates_are_some),
      cmocka_unit_test(two_are_as_exact_as_the_worse),
      cmocka_unit_test(times),
      cmocka_unit_test(shares),
      cmocka_unit_test(fits_by_columns_not_bytes),
      cmocka_unit_test(cleans_what_a_terminal_would_obey),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
