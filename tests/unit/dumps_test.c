// SPDX-License-Identifier: Apache-2.0
//
// When dumps are due: once for each time that a rule says so, together where several do, and never
// in a row where they cost too much.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "unit.h"

#include "supervise/dumps.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define S UINT64_C(1000000000)

static struct tide_dumps *dumps_by(enum tide_dump_kind kind, uint64_t value)
{
  const struct tide_dump_options options = {
      .rules = {{kind, value}}, .n_rules = 1, .keep = 1, .keep_bytes = MIB};
  struct tide_dumps *dumps = NULL;
  assert_int_equal(tide_dumps_new(&options, "/nowhere/x.tide", 0, &dumps, NULL), TIDE_ERR_OK);
  return dumps;
}

static bool is_due(struct tide_dumps *dumps, struct tide_dump_figures figures, const char *words)
{
  char *why = tide_dumps_due(dumps, &figures);
  bool due = why != NULL;
  if (due && words)
    assert_non_null(strstr(why, words));
  free(why);
  return due;
}

static bool is_due_at_limit(struct tide_dumps *dumps, uint64_t permille)
{
  return is_due(dumps,
                (struct tide_dump_figures){
                    .used_bytes = permille * MIB, .most_bytes = 1000 * MIB, .limit = "memory.max"},
                "of memory.max are used");
}

// 90 %, then half of what is left each time, so that the last is near the end; anew when it shrank.
static void a_limit_is_told_as_it_comes_nearer(void **state)
{
  (void)state;
  struct tide_dumps *dumps = dumps_by(TIDE_DUMP_LIMIT, 900000);
  static const struct {
    uint64_t permille;
    bool fires;
  } course[] = {{0, false},   {899, false}, {900, true}, {949, false},  {950, true},  {951, false},
                {930, false}, {976, true},  {999, true}, {1000, false}, {850, false}, {899, false},
                {905, false}, {700, false}, {901, true}, {1000, true},  {1000, false}};
  for (size_t i = 0; i < sizeof course / sizeof *course; i++)
    assert_int_equal(is_due_at_limit(dumps, course[i].permille), course[i].fires);
  tide_dumps_free(dumps);
}

static void what_is_not_limited_is_never_near(void **state)
{
  (void)state;
  struct tide_dumps *dumps = dumps_by(TIDE_DUMP_LIMIT, 900000);
  assert_false(is_due(dumps, (struct tide_dump_figures){.used_bytes = MIB}, NULL));
  tide_dumps_free(dumps);
}

static void several_at_once_are_one(void **state)
{
  (void)state;
  struct tide_dumps *dumps = dumps_by(TIDE_DUMP_ALLOCATED, 10);
  assert_false(is_due(dumps, (struct tide_dump_figures){.allocated_bytes = 9}, NULL));
  assert_true(is_due(dumps, (struct tide_dump_figures){.allocated_bytes = 10}, "10 B so far"));
  assert_false(is_due(dumps, (struct tide_dump_figures){.allocated_bytes = 19}, NULL));
  assert_true(is_due(dumps, (struct tide_dump_figures){.allocated_bytes = 47}, NULL));
  assert_false(is_due(dumps, (struct tide_dump_figures){.allocated_bytes = 49}, NULL));
  char *summary = tide_dumps_summary(dumps);
  assert_string_equal(summary, "no dump was taken; 2 more were due at the same time as another, "
                               "and left out");
  free(summary);
  tide_dumps_free(dumps);
}

// A heap that shrinks and grows again has no new peak.
static void growth_and_peaks_are_of_the_highest(void **state)
{
  (void)state;
  struct tide_dumps *growth = dumps_by(TIDE_DUMP_GROWTH, 10 * MIB);
  struct tide_dumps *peaks = dumps_by(TIDE_DUMP_PEAK, 100 * MIB);
  struct tide_dumps *rss = dumps_by(TIDE_DUMP_RSS, 100 * MIB);
  static const struct {
    uint64_t mib;
    bool grows, is_peak, is_resident;
  } course[] = {{5, false, false, false},  {15, true, false, false},  {5, false, false, false},
                {19, false, false, false}, {105, true, true, true},   {80, false, false, false},
                {108, false, false, true}, {112, true, false, false}, {116, false, true, false},
                {120, true, false, true}};
  for (size_t i = 0; i < sizeof course / sizeof *course; i++) {
    const struct tide_dump_figures now = {.live_bytes = course[i].mib * MIB,
                                          .rss_bytes = course[i].mib * MIB};
    assert_int_equal(is_due(growth, now, "that the heap grows"), course[i].grows);
    assert_int_equal(is_due(peaks, now, "a new peak beyond 100.0 MiB"), course[i].is_peak);
    assert_int_equal(is_due(rss, now, "are resident"), course[i].is_resident);
  }
  tide_dumps_free(growth);
  tide_dumps_free(peaks);
  tide_dumps_free(rss);
}

// One that took a second is not followed by the next within four, but by one that cannot wait.
static void what_has_time_waits(void **state)
{
  (void)state;
  const struct tide_dump_options options = {
      .rules = {{TIDE_DUMP_TIME, S}, {TIDE_DUMP_SIGNAL, SIGUSR1}},
      .n_rules = 2,
      .keep = 1,
      .keep_bytes = MIB};
  struct tide_dumps *dumps = NULL;
  assert_int_equal(tide_dumps_signal(&options), SIGUSR1);
  assert_int_equal(tide_dumps_new(&options, "/nowhere/x.tide", 100 * S, &dumps, NULL), TIDE_ERR_OK);
  struct tide_dump_figures now = {.now_ns = 101 * S};
  assert_int_equal(tide_dumps_next_ns(dumps, &(struct tide_dump_figures){.now_ns = 100 * S}, 0),
                   101 * S);
  assert_true(is_due(dumps, now, "every 1.00 s"));
  tide_dumps_took(dumps, 101 * S, 102 * S);
  now.now_ns = 103 * S;
  assert_false(is_due(dumps, now, NULL));
  assert_true(tide_dumps_next_ns(dumps, &now, 0) > now.now_ns);
  tide_dumps_ask(dumps);
  assert_true(is_due(dumps, now, "SIGUSR1 asked for it"));
  assert_false(is_due(dumps, now, NULL));
  now.now_ns = 107 * S;
  assert_true(is_due(dumps, now, "every"));
  tide_dumps_free(dumps);
}

// Near its threshold it is looked at ten times as often; looks that cost much are seldom.
static void looks_are_as_frequent_as_they_must_be(void **state)
{
  (void)state;
  struct tide_dumps *dumps = dumps_by(TIDE_DUMP_PEAK, 100 * MIB);
  const struct tide_dump_figures far = {.live_bytes = 10 * MIB}, near = {.live_bytes = 90 * MIB};
  assert_int_equal(tide_dumps_next_ns(dumps, &far, 0), S / 50);
  assert_int_equal(tide_dumps_next_ns(dumps, &near, 0), S / 500);
  assert_int_equal(tide_dumps_next_ns(dumps, &near, S / 1000), S / 10);
  tide_dumps_free(dumps);
}

UNIT_TESTS(dumps_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_limit_is_told_as_it_comes_nearer),
      cmocka_unit_test(what_is_not_limited_is_never_near),
      cmocka_unit_test(several_at_once_are_one),
      cmocka_unit_test(growth_and_peaks_are_of_the_highest),
      cmocka_unit_test(what_has_time_waits),
      cmocka_unit_test(looks_are_as_frequent_as_they_must_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
