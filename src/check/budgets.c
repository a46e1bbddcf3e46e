// SPDX-License-Identifier: Apache-2.0
//
// The list of them, and single ones as people type them; files are in budget_file.c.
#include "check/budgets.h"

#include "base/alloc.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

const struct tide_limited_row tide_limited_rows[TIDE_LIMITED_N] = {
#define X(name, word, in_bytes, of_sites, of_marks, of_growth)                                     \
  [TIDE_LIMITED_##name] = {word, in_bytes, of_sites, of_marks, of_growth},
    TIDE_LIMITED_LIST(X)
#undef X
};

static void budget_done(struct tide_heap_budget *budget)
{
  free(budget->program);
  free(budget->site);
  free(budget->from);
  free(budget->to);
}

void tide_budgets_done(struct tide_budgets *budgets)
{
  for (size_t i = 0; i < budgets->n; i++)
    budget_done(&budgets->items[i]);
  free(budgets->items);
  free(budgets->path);
  free(budgets->baseline);
  *budgets = (struct tide_budgets){0};
}

void tide_budgets_add(struct tide_budgets *budgets, const struct tide_heap_budget *budget)
{
  TIDE_GROW(budgets->items, budgets->n, budgets->cap);
  budgets->items[budgets->n++] = *budget;
}

static enum tide_err parse_count(const char *text, uint64_t *ret_limit, struct tide_diag *diag)
{
  char *end;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno || number > INT64_MAX)
    return tide_fail(diag, TIDE_ERR_USAGE, "allocations are counted; write it as 10000, not \"%s\"",
                     text);
  *ret_limit = number;
  return TIDE_ERR_OK;
}

enum tide_err tide_budget_limit_parse(enum tide_limited what, const char *text, uint64_t *ret_limit,
                                      struct tide_diag *diag)
{
  uint64_t limit = 0;
  if (!tide_limited_rows[what].in_bytes)
    return parse_count(text, ret_limit, diag);
  enum tide_err err = tide_size_parse(text, &limit, diag);
  if (!err && limit > INT64_MAX)
    err = tide_fail(diag, TIDE_ERR_USAGE, "\"%s\" is more than any run can use", text);
  if (!err)
    *ret_limit = limit;
  return err;
}

static enum tide_err check_pattern(const char *pattern, struct tide_diag *diag)
{
  regex_t compiled;
  char why[256];
  if (!*pattern)
    return tide_fail(diag, TIDE_ERR_USAGE, "an empty regular expression is like every stack");
  int code = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);
  if (!code) {
    regfree(&compiled);
    return TIDE_ERR_OK;
  }
  regerror(code, &compiled, why, sizeof why);
  return tide_fail(diag, TIDE_ERR_USAGE, "\"%s\" is no regular expression: %s", pattern, why);
}

enum tide_err tide_budget_site_parse(const char *text, struct tide_heap_budget *ret_budget,
                                     struct tide_diag *diag)
{
  const char *equals = strrchr(text, '=');
  struct tide_heap_budget budget = {.what = TIDE_LIMITED_PEAK};
  if (!equals)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "write it as REGEX=SIZE, such as parse_=64KiB, not "
                     "\"%s\"",
                     text);
  enum tide_err err = tide_budget_limit_parse(budget.what, equals + 1, &budget.limit, diag);
  if (err)
    return err;
  budget.site = tide_strndup(text, (size_t)(equals - text));
  err = check_pattern(budget.site, diag);
  if (err)
    free(budget.site);
  else
    *ret_budget = budget;
  return err;
}

enum tide_err tide_budgets_growth_parse(struct tide_budgets *budgets, const char *text,
                                        struct tide_diag *diag)
{
  enum tide_err err = tide_percent_parse(text, &budgets->growth_ppm, diag);
  budgets->has_growth = !err;
  return err;
}

enum tide_err tide_budgets_check(const struct tide_budgets *budgets, struct tide_diag *diag)
{
  for (size_t i = 0; i < budgets->n; i++) {
    enum tide_err err =
        budgets->items[i].site ? check_pattern(budgets->items[i].site, diag) : TIDE_ERR_OK;
    if (err)
      return err;
  }
  return TIDE_ERR_OK;
}

void tide_budgets_add_growth(struct tide_budgets *budgets, const char *program)
{
  for (int i = 0; i < TIDE_LIMITED_N; i++) {
    struct tide_heap_budget budget = {
        .what = (enum tide_limited)i,
        .is_growth = true,
        .limit = budgets->growth_ppm,
    };
    if (!tide_limited_rows[i].of_growth)
      continue;
    budget.program = tide_strdup(program);
    tide_budgets_add(budgets, &budget);
  }
}

static bool is_plain(const struct tide_heap_budget *budget)
{
  return !budget->site && !budget->from;
}

bool tide_budget_is_about(const struct tide_budgets *budgets, const struct tide_heap_budget *budget,
                          const char *program)
{
  if (budget->program)
    return strcmp(budget->program, program) == 0;
  for (size_t i = 0; i < budgets->n; i++) {
    const struct tide_heap_budget *other = &budgets->items[i];
    bool is_same = other->what == budget->what && other->is_growth == budget->is_growth;
    if (is_same && is_plain(budget) && is_plain(other) && other->program &&
        strcmp(other->program, program) == 0)
      return false;
  }
  return true;
}
