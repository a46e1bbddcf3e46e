// SPDX-License-Identifier: Apache-2.0
//
// LeakSanitizer's syntax, and what it hides of the indexer.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include "unit.h"

#include "indexer_fixture.h"
#include "view/suppressions.h"

static struct tide_capture *capture;
static struct tide_profile *profile;
static struct tide_naming *naming;
static struct tide_view view;
static struct tide_suppressions *suppressions;

static int setup(void **state)
{
  capture = tide_indexer_capture();
  profile = tide_profile_new(capture, INDEXER_IMAGE);
  naming = tide_naming_new_from(profile->image, &tide_indexer_names);
  tide_profile_ask(profile, &(struct tide_question){.measure = TIDE_MEASURE_LEAK});
  tide_view_init(&view, profile, naming, NULL, false);
  suppressions = tide_suppressions_new();
  return 0;
}

static int teardown(void **state)
{
  tide_suppressions_free(suppressions);
  tide_view_done(&view);
  tide_naming_free(naming);
  tide_profile_free(profile);
  tide_capture_free(capture);
  return 0;
}

static void parse(const char *text)
{
  struct tide_diag diag = {0};
  if (tide_suppressions_parse(suppressions, "file", text, &diag))
    fail_msg("%s", diag.text);
}

static void reads_lines(void **state)
{
  parse("# a comment\n\n  leak:one \r\n\tleak:two words\nleak:#three");
  assert_int_equal(suppressions->n, 3);
  assert_string_equal(suppressions->items[0].pattern, "one");
  assert_string_equal(suppressions->items[1].pattern, "two words");
  assert_string_equal(suppressions->items[2].pattern, "#three");
  parse("");
  assert_int_equal(suppressions->n, 3);
}

static void expect_refused(const char *text, const char *message)
{
  struct tide_diag diag = {0};
  size_t n = suppressions->n;
  assert_int_equal(tide_suppressions_parse(suppressions, "file", text, &diag), TIDE_ERR_FORMAT);
  assert_string_equal(diag.text, message);
  assert_int_equal(suppressions->n, n);
}

static void refuses_with_the_line(void **state)
{
  parse("leak:kept");
  expect_refused("leak:a\nleek:b\n", "file:2: a suppression is leak:PATTERN, not \"leek:b\"");
  expect_refused("\n\nleak: \n", "file:3: leak: needs a pattern");
  expect_refused("race:x", "file:1: a suppression is leak:PATTERN, not \"race:x\"");
  expect_refused("leak", "file:1: a suppression is leak:PATTERN, not \"leak\"");
  struct tide_diag diag = {0};
  assert_int_equal(tide_suppressions_read(suppressions, "/no/such/file", &diag), TIDE_ERR_SYSTEM);
  assert_non_null(strstr(diag.text, "cannot read the suppressions in /no/such/file"));
  assert_int_equal(tide_suppressions_read(suppressions, "/dev/zero", &diag), TIDE_ERR_FORMAT);
  assert_string_equal(diag.text, "/dev/zero is no file of suppressions");
}

static void expect_match(const char *pattern, const char *name, bool matches)
{
  if (tide_suppression_matches(pattern, name) != matches)
    fail_msg("%s %s %s", pattern, matches ? "should match" : "should not match", name);
}

// What LeakSanitizer of gcc 12 did with a leak in barbar(), and its documented forms.
static void matches_as_the_sanitizer_does(void **state)
{
  expect_match("barbar", "barbar", true);
  expect_match("^barbar$", "barbar", true);
  expect_match("bar$", "barbar", false);
  expect_match("^bar", "barbar", true);
  expect_match("b*r", "barbar", true);
  expect_match("ar$b", "barbar", false);
  expect_match("^b*r$", "barbar", false);
  expect_match("$", "barbar", false);
  expect_match("^", "barbar", true);
  expect_match("barbar(", "barbar", false);
  expect_match("foo", "a_foo_b", true);
  expect_match("^foo", "afoo", false);
  expect_match("^*foo", "afoo", true);
  expect_match("bar$", "foobar", true);
  expect_match("^f*r$", "foo bar", true);
  expect_match("foo*$", "foo bar", true);
  expect_match("*", "anything", true);
  expect_match("*", "", false);
}

// A function, a file and a module; the innermost frame that any matches decides.
static void hides_and_counts(void **state)
{
  parse("leak:src/dict.rs\nleak:libplugin\nleak:indexer::main\nleak:nothing");
  tide_suppressions_apply(suppressions, &view);
  const struct tide_suppression *items = suppressions->items;
  assert_int_equal(items[0].n_stacks, 1);
  assert_int_equal(items[0].live_blocks, 190);
  assert_int_equal(items[0].live_bytes, 2 << 20);
  assert_int_equal(items[1].live_bytes, 4096);
  assert_int_equal(items[2].live_bytes, 1 << 20); // postings; the others were hidden before
  assert_int_equal(items[3].n_stacks, 0);
  assert_int_equal(suppressions->weight, (3 << 20) + 4096);
  int64_t left = 0;
  for (size_t i = 0; i < profile->n_sites; i++)
    left += tide_view_has(&view, i) ? profile->sites[i].weight : 0;
  assert_int_equal(left, 1 << 20); // without a stack: nothing to match
  assert_int_equal(view.whole, profile->whole);
}

UNIT_TESTS(suppressions_test)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(reads_lines),
      TEST(refuses_with_the_line),
      TEST(matches_as_the_sanitizer_does),
      TEST(hides_and_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
