// SPDX-License-Identifier: Apache-2.0
//
// Sizes and times as people type them: what they mean, and what is refused with which words.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/units.h"

#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

static struct tide_diag diag;

static void sizes(void **state)
{
  static const struct {
    const char *text;
    uint64_t bytes;
  } cases[] = {
      {"0", 0},
      {"4096", 4096},
      {"17B", 17},
      {"64KiB", 65536},
      {"64k", 65536},
      {"64kB", 64000},
      {"64M", 67108864},
      {"64MiB", 67108864},
      {"64 MiB", 67108864},
      {"64mib", 67108864},
      {"64MB", 64000000},
      {"1.5GiB", 1610612736},
      {"0.1GB", 100000000},
      {"1.3KiB", 1331}, // 1331.2
      {"0.0000000009G", 0},
      {"1.00000000099999K", 1024},
      {"2T", 2199023255552},
      {"16383PiB", 16383ull << 50},
      {"18446744073709551615", UINT64_MAX},
  };
  for (size_t i = 0; i < N(cases); i++) {
    uint64_t bytes = 1;
    if (tide_size_parse(cases[i].text, &bytes, &diag))
      fail_msg("%s: %s", cases[i].text, diag.text);
    assert_int_equal(bytes, cases[i].bytes);
  }
}

static void refused_sizes(void **state)
{
  static const struct {
    const char *text, *words;
  } cases[] = {
      {"", "is no size"},
      {"lots", "64KiB, 64M or 1.5GB"},
      {"-1", "is no size"},
      {"+1", "is no size"},
      {" 1", "is no size"},
      {"1.5", "is no size"}, // of bytes
      {"1.5B", "is no size"},
      {"1,5M", "is no size"},
      {"1.M", "is no size"},
      {".5M", "is no size"},
      {"64Q", "\"64Q\""},
      {"64MiBs", "is no size"},
      {"0x10", "is no size"},
      {"1e6", "is no size"},
      {"18446744073709551616", "is no size"},
      {"16384PiB", "more than 64 bits"},
      {"16383.9999999999PiB", NULL}, // fits: digits past the ninth are dropped
  };
  for (size_t i = 0; i < N(cases); i++) {
    uint64_t bytes = 77;
    enum tide_err err = tide_size_parse(cases[i].text, &bytes, &diag);
    assert_int_equal(err, cases[i].words ? TIDE_ERR_USAGE : TIDE_ERR_OK);
    if (!cases[i].words)
      continue;
    assert_int_equal(bytes, 77); // written on success only
    if (!strstr(diag.text, cases[i].words))
      fail_msg("\"%s\" not in \"%s\"", cases[i].words, diag.text);
  }
}

static void times(void **state)
{
  static const struct {
    const char *text;
    uint64_t time_ns;
  } cases[] = {
      {"0", 0},        {"1.5s", 1500000000}, {"1.5 s", 1500000000},  {"250ms", 250000000},
      {"40us", 40000}, {"40µs", 40000},      {"40μs", 40000},        {"7ns", 7},
      {"0.5ns", 0},    {"2m", 120000000000}, {"2min", 120000000000}, {"1.5h", 5400000000000},
  };
  for (size_t i = 0; i < N(cases); i++) {
    uint64_t time_ns = 1;
    if (tide_time_parse(cases[i].text, &time_ns, &diag))
      fail_msg("%s: %s", cases[i].text, diag.text);
    assert_int_equal(time_ns, cases[i].time_ns);
  }
}

static void refused_times(void **state)
{
  uint64_t time_ns;
  assert_int_equal(tide_time_parse("12", &time_ns, &diag), TIDE_ERR_USAGE);
  assert_string_equal(diag.text, "\"12\" lacks a unit; write 12s or 12ms");
  assert_int_equal(tide_time_parse("soon", &time_ns, &diag), TIDE_ERR_USAGE);
  assert_string_equal(diag.text, "\"soon\" is no time; write it as 1.5s, 250ms, 40us or 2m");
  assert_int_equal(tide_time_parse("peak", &time_ns, &diag), TIDE_ERR_USAGE);
  assert_int_equal(tide_time_parse("-1s", &time_ns, &diag), TIDE_ERR_USAGE);
  assert_int_equal(tide_time_parse("99999999999h", &time_ns, &diag), TIDE_ERR_USAGE);
  assert_non_null(strstr(diag.text, "64 bits of nanoseconds"));
}

static void moments(void **state)
{
  struct tide_moment moment;
  assert_int_equal(tide_moment_parse("peak", &moment, &diag), 0);
  assert_int_equal(moment.kind, TIDE_MOMENT_PEAK);
  assert_int_equal(tide_moment_parse("end", &moment, &diag), 0);
  assert_int_equal(moment.kind, TIDE_MOMENT_END);
  assert_int_equal(tide_moment_parse("start", &moment, &diag), 0);
  assert_int_equal(moment.kind, TIDE_MOMENT_START);
  assert_int_equal(tide_moment_parse("40%", &moment, &diag), 0);
  assert_int_equal(moment.kind, TIDE_MOMENT_SHARE);
  assert_int_equal(moment.share_ppm, 400000);
  assert_int_equal(tide_moment_parse("12.5 %", &moment, &diag), 0);
  assert_int_equal(moment.share_ppm, 125000);
  assert_int_equal(tide_moment_parse("100%", &moment, &diag), 0);
  assert_int_equal(tide_moment_parse("100.1%", &moment, &diag), TIDE_ERR_USAGE);
  assert_non_null(strstr(diag.text, "after the end"));
  assert_int_equal(tide_moment_parse("6.1s", &moment, &diag), 0);
  assert_int_equal(moment.kind, TIDE_MOMENT_TIME);
  assert_int_equal(moment.time_ns, 6100000000);
  assert_int_equal(tide_moment_parse("Tuesday", &moment, &diag), TIDE_ERR_USAGE);
  assert_non_null(strstr(diag.text, "40%, start, peak or end"));
}

UNIT_TESTS(quantity_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes),         cmocka_unit_test(refused_sizes), cmocka_unit_test(times),
      cmocka_unit_test(refused_times), cmocka_unit_test(moments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
