// SPDX-License-Identifier: Apache-2.0
//
// The part of TOML that is read, and what is refused, with its line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include "unit.h"

#include "check/toml.h"

static struct tide_toml document;

static void parse(const char *text)
{
  struct tide_diag diag = {0};
  tide_toml_done(&document);
  if (tide_toml_parse("f", text, &document, &diag))
    fail_msg("%s", diag.text);
}

static const struct tide_toml *at(const char *a, const char *b)
{
  const struct tide_toml *node = tide_toml_find(&document, a);
  assert_non_null(node);
  node = b ? tide_toml_find(node, b) : node;
  assert_non_null(node);
  return node;
}

static int teardown(void **state)
{
  tide_toml_done(&document);
  return 0;
}

static void reads_values(void **state)
{
  parse("a = \"x\" # said\r\nb = 'C:\\d'\n\nc = 1_000\nd=-5\ne = +7\nf = 0\n"
        "g = \"\\t\\\"\\\\\\u00e9\\U0001F600\"\n\"h i\" = 9223372036854775800");
  assert_string_equal(at("a", NULL)->text, "x");
  assert_string_equal(at("b", NULL)->text, "C:\\d");
  assert_int_equal(at("c", NULL)->integer, 1000);
  assert_int_equal(at("c", NULL)->line, 4);
  assert_int_equal(at("d", NULL)->integer, -5);
  assert_int_equal(at("e", NULL)->integer, 7);
  assert_int_equal(at("f", NULL)->integer, 0);
  assert_string_equal(at("g", NULL)->text, "\t\"\\\xc3\xa9\xf0\x9f\x98\x80");
  assert_int_equal(at("h i", NULL)->kind, TIDE_TOML_INTEGER);
  parse("\xef\xbb\xbf"
        "a = 1");
  assert_int_equal(at("a", NULL)->line, 1);
  parse("");
  assert_int_equal(document.n, 0);
}

static void reads_tables(void **state)
{
  parse(
      "[a]\nx = 1\n[a . \"b.c\"]\ny = 2\n[[l]]\nz = 3\n[[l]]\nz = 4\n[l.sub]\nw = 5\n[d]\ne.f = 6\n"
      "e.g = 7\n");
  assert_int_equal(at("a", "x")->integer, 1);
  assert_int_equal(tide_toml_find(at("a", "b.c"), "y")->integer, 2);
  const struct tide_toml *list = at("l", NULL);
  assert_int_equal(list->kind, TIDE_TOML_TABLES);
  assert_int_equal(list->n, 2);
  assert_int_equal(tide_toml_find(&list->items[0], "z")->integer, 3);
  assert_int_equal(tide_toml_find(tide_toml_find(&list->items[1], "sub"), "w")->integer, 5);
  assert_int_equal(tide_toml_find(at("d", "e"), "g")->integer, 7);
}

static const struct {
  const char *text, *why;
} wrong[] = {
    {"a", "f:1: \"a\" is not followed by \"=\""},
    {"\n\na = ", "f:3: \"a\" has no value"},
    {"a = # x", "f:1: \"a\" has no value"},
    {"= 1", "f:1: a key was expected"},
    {"a = 1 b = 2", "f:1: \"b = 2\" is too much"},
    {"a = 1\na = 2", "f:2: \"a\" has been given already, in line 1"},
    {"[a]\n[a]", "f:2: \"a\" has been given already, in line 1"},
    {"[[a]]\n[a]", "f:2: \"a\" has been given already"},
    {"[a]\n[[a]]", "f:2: \"a\" is no array of tables"},
    {"a.b = 1\n[a]", "f:2: \"a\" has been given already"},
    {"a = 1\n[a.b]", "f:2: \"a\" has been given already"},
    {"a = 1\na.b = 2", "f:2: \"a\" has been given already"},
    {"[a", "f:1: the header does not end in \"]\""},
    {"[[a]", "f:1: the header does not end in \"]]\""},
    {"[a]]", "f:1: \"]\" is too much"},
    {"[]", "f:1: a key was expected"},
    {"a = \"x", "f:1: the string that begins here does not end"},
    {"a = \"x\ny\"", "f:1: the string that begins here does not end"},
    {"a = \"\"\"x\"\"\"", "f:1: strings over several lines"},
    {"a = \"\\q\"", "f:1: \"\\q\" is no escape"},
    {"a = \"\\u12\"", "f:1: \\u takes 4 hexadecimal digits"},
    {"a = \"\\ud800\"", "f:1: \\uD800 is no character"},
    {"a = \"\\u0000\"", "f:1: \\u0000 is no character"},
    {"a = \"\\U00110000\"", "f:1: \\U00110000 is no character"},
    {"a = \"x\x01\"", "f:1: a string with a control character"},
    {"# \x01", "f:1: a comment with a control character"},
    {"a = 1\n# \xff", "f:2: a byte that is not UTF-8"},
    {"a = 007", "f:1: \"007\" is no value"},
    {"a = 1__0", "f:1: \"1__0\" is no value"},
    {"a = 1_", "f:1: \"1_\" is no value"},
    {"a = 0x10", "f:1: \"0x10\" is no value"},
    {"a = 1e5", "f:1: \"1e5\" is no value"},
    {"a = -", "f:1: \"-\" is no value"},
    {"a = 99999999999999999999", "f:1: \"99999999999999999999\" is no value"},
    {"a = 1979-05-27", "f:1: \"1979-05-27\" is no value"},
    {"a = [1]", "f:1: arrays are not used"},
    {"a = {b = 1}", "f:1: inline tables are not used"},
    {"a = true", "f:1: booleans are not used"},
    {"a.b.c.d.e.f.g.h.i = 1", "f:1: a key of more than 8 parts"},
    {"a = 1\rb = 2", "f:1: "},
};

static void refuses(void **state)
{
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct tide_diag diag = {0};
    if (tide_toml_parse("f", wrong[i].text, &document, &diag) != TIDE_ERR_FORMAT)
      fail_msg("\"%s\" is taken", wrong[i].text);
    if (strncmp(diag.text, wrong[i].why, strlen(wrong[i].why)) != 0)
      fail_msg("\"%s\": %s, not %s", wrong[i].text, diag.text, wrong[i].why);
  }
}

UNIT_TESTS(toml_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(reads_values, teardown),
      cmocka_unit_test_teardown(reads_tables, teardown),
      cmocka_unit_test(refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
