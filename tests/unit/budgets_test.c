// SPDX-License-Identifier: Apache-2.0
//
// Budgets from words and from files, and which of them a program is judged by.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "check/budgets.h"

static struct tide_budgets budgets;

static int teardown(void **state)
{
  tide_budgets_done(&budgets);
  return 0;
}

static void parse(const char *text)
{
  struct tide_diag diag = {0};
  if (tide_budgets_parse(&budgets, "dir/f", text, &diag))
    fail_msg("%s", diag.text);
}

static void reads_a_file(void **state)
{
  parse("max-peak = \"64KiB\"\nmax-allocs = 5\nbaseline = \"old.tide\"\nmax-growth = \"2.5%\"\n"
        "[program.indexer]\nmax-rss = 9\n[[site]]\nmatch = \"^a=b\"\nprogram = \"x\"\n"
        "max-temp = \"1k\"\n[[mark]]\nto = \"loaded\"\nmax-leaked = 0\n");
  assert_int_equal(budgets.n, 5);
  assert_int_equal(budgets.items[0].limit, 65536);
  assert_int_equal(budgets.items[1].what, TIDE_LIMITED_ALLOCS);
  assert_int_equal(budgets.items[1].line, 2);
  assert_string_equal(budgets.items[2].program, "indexer");
  assert_string_equal(budgets.items[3].site, "^a=b");
  assert_string_equal(budgets.items[3].program, "x");
  assert_string_equal(budgets.items[4].from, "start");
  assert_string_equal(budgets.items[4].to, "loaded");
  assert_string_equal(budgets.baseline, "dir/old.tide");
  assert_int_equal(budgets.growth_ppm, 25000);
  tide_budgets_add_growth(&budgets, NULL);
  assert_int_equal(budgets.n, 9); // peak, total, allocations, leaked
}

static void who_came_before_decides(void **state)
{
  tide_budgets_add(&budgets, &(struct tide_heap_budget){.what = TIDE_LIMITED_PEAK, .limit = 7});
  budgets.baseline = tide_strdup("mine.tide");
  parse("max-peak = 5\nmax-total = 6\nbaseline = \"/old.tide\"\n[program.a]\nmax-peak = 8\n");
  assert_int_equal(budgets.n, 3);
  assert_int_equal(budgets.items[0].limit, 7);
  assert_int_equal(budgets.items[1].what, TIDE_LIMITED_TOTAL);
  assert_string_equal(budgets.baseline, "mine.tide");
}

static void a_program_has_its_own(void **state)
{
  parse("max-peak = 5\n[program.a]\nmax-peak = 8\n[[site]]\nmatch = \"x\"\nmax-peak = 1\n");
  const struct tide_heap_budget *all = &budgets.items[0], *own = &budgets.items[1];
  assert_true(tide_budget_is_about(&budgets, all, "b"));
  assert_false(tide_budget_is_about(&budgets, all, "a"));
  assert_true(tide_budget_is_about(&budgets, own, "a"));
  assert_false(tide_budget_is_about(&budgets, own, "b"));
  assert_true(tide_budget_is_about(&budgets, &budgets.items[2], "a"));
}

static void a_file_that_is_wrong_adds_nothing(void **state)
{
  static const char *const wrong[] = {
      "max-peak = 5\nmax-rsss = 1",
      "max-peak = 5\n[program.a]\n",
      "max-peak = 5\n[[site]]\nmatch = 5\nmax-peak = 1",
      "max-peak = 5\nmax-growth = 5",
      "max-peak = 5\nbaseline = \"\"",
      "max-peak = 5\n[program]\na = 5",
      "max-peak = 5\nprogram = 5",
      "max-peak = 5\n[[program]]\n",
      "max-peak = 5\nmark = \"x\"",
      "max-peak = 5\n[[mark]]\nfrom = \"a\"\nmax-temp = 1",
      "max-peak = [",
      "max-peak = \"9999999P\"",
      "max-allocs = \"1k\"",
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct tide_diag diag = {0};
    if (!tide_budgets_parse(&budgets, "f", wrong[i], &diag))
      fail_msg("%s is taken", wrong[i]);
    assert_int_equal(strncmp(diag.text, "f:", 2), 0);
    assert_int_equal(budgets.n, 0);
    assert_null(budgets.baseline);
  }
}

static void reads_sites(void **state)
{
  struct tide_heap_budget budget = {0};
  struct tide_diag diag = {0};
  assert_int_equal(tide_budget_site_parse("a=b=64K", &budget, &diag), TIDE_ERR_OK);
  assert_string_equal(budget.site, "a=b");
  assert_int_equal(budget.limit, 65536);
  free(budget.site);
  assert_int_equal(tide_budget_site_parse("abc", &budget, &diag), TIDE_ERR_USAGE);
  assert_int_equal(tide_budget_site_parse("=5", &budget, &diag), TIDE_ERR_USAGE);
  assert_int_equal(tide_budget_site_parse("(=5", &budget, &diag), TIDE_ERR_USAGE);
  assert_int_equal(tide_budget_site_parse("a=x", &budget, &diag), TIDE_ERR_USAGE);
}

UNIT_TESTS(budgets_test)
{
#define TEST(f) cmocka_unit_test_teardown(f, teardown)
  const struct CMUnitTest tests[] = {
      TEST(reads_a_file),          TEST(who_came_before_decides),
      TEST(a_program_has_its_own), TEST(a_file_that_is_wrong_adds_nothing),
      TEST(reads_sites),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
